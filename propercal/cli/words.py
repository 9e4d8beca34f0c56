"""Messages in the words of the command line: flags in place of Python's arguments."""

from __future__ import annotations

import re
from collections.abc import Collection

#: Python's name of an argument: the flag that sets it, in the commands that have it.
FLAGS = {
    "algorithm": "--algorithm",
    "alpha": "--alpha",
    "bandwidth": "--bandwidth",
    "blocks": "--blocks",
    "classes": "--class",
    "confidence_level": "--level",
    "drop": "--drop",
    "event": "--event",
    "exclude_self": "--include-self",
    "from_logits": "--from-logits",
    "generator": "--generator",
    "group_column": "--group-column",
    "groups": "--group-column",
    "id_column": "--id-column",
    "kernel": "--kernel",
    "label_column": "--label-column",
    "labels": "--class",
    "method": "--method",
    "n_bins": "--n-bins",
    "n_folds": "--n-folds",
    "n_resamples": "--n-resamples",
    "notion": "--notion",
    "pos_label": "--pos-label",
    "random_state": "--seed",
    "run_length": "--run-length",
    "path": "--output",
    "sample_weight": "--weight-column",
    "subgroup_column": "--subgroup-column",
    "subgroups": "--subgroup-column",
    "term": "--term",
    "weight_column": "--weight-column",
}
#: What has no flag, since it is what a file holds.
DATA = {"y_true": "labels", "y_proba": "predictions"}

_NAMES = "|".join(sorted(FLAGS, key=len, reverse=True))
_VALUE = r"""'[^']*'|"[^"]*"|\[[^\]]*\]|[^\s,;:()]*[^\s,;:().]|\.\.\."""
#: Names of flags and of arguments beside each other: the first are enough.
_BOTH = re.compile(r"(?:\w+(?:, | or ))*\w+ \((--[^()]*?) on the command line\)")
#: An argument and its value, as errors begin and as calls have it.
_BEGINS = re.compile(rf"(^|: )(?!labels)({_NAMES}) = ({_VALUE})?")
_CALLED = re.compile(rf"\b({_NAMES})=({_VALUE})?")
#: Names that are no words of English, but for those that a file gives to its columns.
_WITH_UNDERSCORE = "|".join(name for name in (*FLAGS, *DATA) if "_" in name)
_UNDERSCORED = re.compile(rf"(?<!['\"])(?<!--drop )\b({_WITH_UNDERSCORE})\b(?!['\"]|\s*[=(]\s*\()")
#: Labels that count columns otherwise name them, in a file.
_COUNTED = re.compile(r"Pass labels=list\(range\(.*\.$")
#: What says which column is of which class; labels that count the columns of a table otherwise do.
_LISTED = re.compile(
    r"Pass labels=\[\.\.\.\](?:, the class of| in the order of the columns, or) .*\.$"
)
_SAID = (
    "Pass --class: of a table the names of columns, in the order in which labels count them; of an "
    "array the label of each column, in order."
)
#: What Python calls by one name, and people by a plural.
_PLURAL = {"has": "have", "holds": "hold", "is": "are", "lets": "let"}
_SINGULAR = re.compile(rf"\b({'|'.join(DATA)}) ({'|'.join(_PLURAL)})\b")


def arguments_of(flags: Collection[str]) -> list[str]:
    """Return the names of arguments that a command with these flags has."""
    return [name for name, flag in FLAGS.items() if flag in flags]


def in_words(message: str) -> str:
    """Return a message of the package as the command line says it."""
    message = _COUNTED.sub("Write names of columns as labels.", _BOTH.sub(r"\1", message))
    message = _LISTED.sub(_SAID, message)
    message = _SINGULAR.sub(lambda m: f"{m[1]} {_PLURAL[m[2]]}", message)
    message = _BEGINS.sub(lambda m: f"{m[1]}{_flag(m[2], m[3] or '')}", message)
    message = _CALLED.sub(lambda m: _flag(m[1], m[2] or ""), message)
    return _UNDERSCORED.sub(lambda m: FLAGS.get(m[1]) or DATA[m[1]], message)


def _flag(name: str, value: str) -> str:
    """Return a flag with its value; one that is set by its presence has none.

    Nor is a list shown: such a flag is repeated.
    """
    flag = FLAGS[name]
    plain = value.strip("\"'") if value[:1] in "\"'" and " " not in value else value
    if plain in ("True", "False", "...", "") or plain.startswith("["):
        return flag
    return f"{flag} {plain}"
