"""The sharpness of every layer of a network, by three estimates."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from propercal import decompose
from propercal.information import layer_sharpness
from studies.training import Floats, Labels, Snapshot
from studies.training_data import Rows
from studies.training_design import Design, Layout

# One node less than classes, so that a softmax over (0, activations) is one-to-one onto the simplex
# of the classes; that is the paper's network, and needed for the debiased estimate.
HIDDEN = (9, 9, 9, 9)
LAYERS = (*(str(i + 1) for i in range(len(HIDDEN))), "output")
GENERATORS = ("brier", "log")
#: The published estimate at the paper's bandwidth, of the probabilities themselves for the output
#: layer; with every layer standardised and the bandwidth of least risk; and the debiased one.
METHODS = ("risk", "risk-tuned", "debiased")
BANDWIDTH = 0.02
# Every pair of folds is left out once, so a fold less saves a third of the fits.
N_FOLDS = 4

LAYOUT = Layout(
    {"generator": GENERATORS, "method": METHODS, "layer": LAYERS},
    {
        "train_accuracy": ((), "share of training rows whose class has the largest probability"),
        "accuracy": ((), "the same of the rows looked at"),
        "sharpness": (
            ("generator", "method", "layer"),
            "sharpness (log: nats; Brier: summed over classes)",
        ),
        "standard_error": (("generator", "layer"), "standard error of the debiased sharpness"),
        "kernel_bandwidth": (
            ("generator", "layer"),
            "median bandwidth of its kernel correction, inf for none",
        ),
    },
)


def measure(_: Design, snapshot: Snapshot, rows: Rows) -> dict[str, Any]:
    """Estimate the sharpness of every layer on the monitored rows."""
    *hidden, log_prob = snapshot.layers(rows.monitor.inputs)
    y = rows.monitor.labels
    # A network's probabilities as nine coordinates like those of the other layers.
    layers = [*hidden, log_prob[:, 1:] - log_prob[:, :1]]
    sharpness = np.empty((len(GENERATORS), len(METHODS), len(LAYERS)))
    for i, generator in enumerate(GENERATORS):
        given = partial(layer_sharpness, y_true=y, generator=generator, labels=range(10))
        as_they_are = given(hidden, bandwidth=BANDWIDTH, standardise=False)
        published: dict[str, Any] = {
            "generator": generator,
            "method": "risk",
            "bandwidth": BANDWIDTH,
        }
        output = decompose(y, log_prob, from_logits=True, **published)
        sharpness[i, 0] = [*as_they_are, output.sharpness]
        sharpness[i, 1] = given(layers)
    found = [
        decompose(
            y,
            point,
            from_logits=True,
            generator=list(GENERATORS),
            recalibrator=probes(),
            n_folds=N_FOLDS,
        )
        for point in map(_in_simplex, layers)
    ]
    sharpness[:, 2] = np.transpose([[each.sharpness for each in layer] for layer in found])
    return {
        "train_accuracy": _accuracy(snapshot.log_prob(rows.train.inputs), rows.train.labels),
        "accuracy": _accuracy(log_prob, y),
        "sharpness": sharpness,
        "standard_error": np.transpose(
            [[each.standard_errors["sharpness"] for each in layer] for layer in found]
        ),
        "kernel_bandwidth": np.transpose([[each.bandwidth for each in layer] for layer in found]),
    }


def probes() -> list[Any]:
    """Return classifiers of what a layer holds: the same for every layer, to favour none."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

    return [
        make_pipeline(
            FunctionTransformer(_log_ratios),
            StandardScaler(),
            LogisticRegression(max_iter=300),
        ),
        make_pipeline(
            FunctionTransformer(_log_ratios),
            StandardScaler(),
            PolynomialFeatures(2, include_bias=False),
            StandardScaler(),
            LogisticRegression(C=0.05, max_iter=300),
        ),
    ]


def _in_simplex(activations: Floats) -> Floats:
    """Return logits whose softmax is a one-to-one image of activations of unit spread."""
    spread = activations.std(axis=0)
    scaled = (activations - activations.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.hstack([np.zeros((len(scaled), 1)), scaled])


def _log_ratios(prob: Floats) -> Floats:
    logarithms: Floats = np.log(prob)
    return logarithms[:, 1:] - logarithms[:, :1]


def _accuracy(log_prob: Floats, y: Labels) -> float:
    return float(np.mean(log_prob.argmax(axis=1) == y))
