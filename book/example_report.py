"""The report that the guide links: python -m book.example_report FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

NAME = "example_report.html"


def write(folder: Path) -> Path:
    """Write the page, of tumours that scikit-learn ships, into a folder."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    import propercal

    data = load_breast_cancer()
    y_true = data.target_names[data.target]
    y_proba = cross_val_predict(GaussianNB(), data.data, y_true, cv=10, method="predict_proba")
    size = ["large" if radius > 15 else "small" for radius in data.data[:, 0]]
    title = "Naive Bayes on tumours"
    path = folder / NAME
    propercal.report(y_true, y_proba, path=path, generator="brier", subgroups=size, title=title)
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]))
