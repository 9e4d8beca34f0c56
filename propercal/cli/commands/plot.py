"""``propercal plot``: figures of files of predictions."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from propercal._data.words.messages import columns_called
from propercal._files.names import listed
from propercal.cli import options as flags
from propercal.cli.arguments import whole_number
from propercal.cli.codes import DONE, FAILED
from propercal.cli.each_file import (
    FAULTS,
    check_standard_input,
    collected_warnings,
    data_of,
    read,
    with_names,
)
from propercal.cli.output import named_reason, say_plainly
from propercal.cli.writing import check_new, write

if TYPE_CHECKING:
    from propercal._files.prediction_file import PredictionFile

SUMMARY = "draw reliability, Murphy and other diagrams to svg, png or pdf"

_SUFFIXES = (".svg", ".png", ".pdf")
_ONE, _LINES, _MANY = 1, 6, 1000


class _Kind(NamedTuple):
    """A kind of figure."""

    most: int
    """Files that it can show."""
    draw: Callable[[list[PredictionFile], argparse.Namespace], Any]


_ABOUT_KINDS = """\
Kinds of figures (--kind):
  reliability     what occurred against what was predicted, with bands (one file)
  panels          the same for each class (one file, up to 12 classes)
  decomposition   bars of the terms with intervals (up to 6 files or generators)
  murphy          mean elementary scores by threshold (up to 6 files)
  triptych        reliability, Murphy and ROC side by side (up to 6 files)
  mcb-dsc         discrimination against miscalibration (any number of files)
  simplex         where predictions of three classes should move (one file)
"""
_ABOUT = f"""\
Draw a figure of predictions. Files of several models are matched as by propercal compare, but for
--kind decomposition, which takes any.

{_ABOUT_KINDS}
The output is svg, png or pdf, by its name; no file is overwritten without --force. Equal data make
equal bytes.

{flags.FILES}"""
_EXAMPLES = """\
  propercal plot test.csv -o reliability.svg
  propercal plot a.npz b.npz --kind murphy --event cat -o murphy.png
  propercal plot a.npz b.npz --kind decomposition --generator brier -o terms.pdf
"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = flags.command_of_files(
        commands,
        "plot",
        run,
        flags.Help(SUMMARY, _ABOUT, _EXAMPLES),
        [
            flags.rows(),
            flags.loss(default="brier, for decomposition log"),
            flags.method(),
            flags.seed_and_level(),
        ],
    )
    group = parser.add_argument_group("figure")
    group.add_argument(
        "--kind",
        choices=tuple(_KINDS),
        default="reliability",
        metavar="KIND",
        help=f"{', '.join(_KINDS)} (default: reliability)",
    )
    group.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="svg, png or pdf"
    )
    group.add_argument(
        "--event",
        metavar="CLASS",
        help="class whose probability is shown: the name of its column, or its number from 0",
    )
    group.add_argument("--n-bins", type=whole_number(1), metavar="N", help="bars (default: 15)")
    flags.force(group)
    flags.progress(group)


def run(options: argparse.Namespace) -> int:
    """Draw the figure."""
    kind = _KINDS[options.kind]
    check_standard_input(options)
    if len(options.files) > kind.most:
        options.refuse(f"argument --kind: {options.kind} shows {kind.most} file(s) at most")
    if options.output.suffix.lower() not in _SUFFIXES:
        options.refuse(f"argument --output: expected a name that ends in {listed(_SUFFIXES)}")
    notes: list[str] = []
    code = DONE
    try:
        with collected_warnings(notes):
            check_new(options.output, options.files, force=options.force)
            files = [with_names(read(path, options, find_id=True)) for path in options.files]
            with columns_called(files[0].class_names):
                content = _content(kind, files, options)
            write(options.output, content)
    except FAULTS as error:
        notes.append(named_reason(error))
        code = FAILED
    for note in notes:
        say_plainly(note)
    return code


def _content(kind: _Kind, files: list[PredictionFile], options: argparse.Namespace) -> bytes:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError(
            'propercal plot needs matplotlib: pip install "propercal[plot]"'
        ) from error
    mpl.use("agg")
    from matplotlib import pyplot as plt

    suffix = options.output.suffix.lower().removeprefix(".")
    # No date, and no salt, so that equal data make equal bytes.
    dates: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    others = {*plt.get_fignums()}
    try:
        with mpl.rc_context({"svg.hashsalt": "propercal", "svg.fonttype": "none"}):
            drawn = kind.draw(files, options)
            axis = drawn[0] if isinstance(drawn, list) else drawn
            axis.figure.savefig(
                stream, format=suffix, dpi=200, metadata=dates.get(suffix), bbox_inches="tight"
            )
    finally:
        for number in {*plt.get_fignums()} - others:
            plt.close(number)
    return stream.getvalue()


def _event(data: PredictionFile, options: argparse.Namespace) -> dict[str, Any]:
    """Return the class that is shown, as text."""
    if options.event is None:
        return {}
    from propercal._data.classes.columns import keys
    from propercal._data.words.tokens import key
    from propercal._files.matching import classes_read

    names, classes = data.class_names, classes_read(data)
    # A number may be that of a column, or a class: as text it is the class.
    own, called = [str(each) for each in keys(classes)], str(key(options.event))
    k = len(classes)
    if len(names) > 1 and options.event in names:
        return {"event": own[names.index(options.event)]}
    # The only column is of class 1, whatever it is called.
    if len(names) == 1 and options.event in (*names, options.pos_label):
        return {"event": own[1]}
    if not names and called in own:
        return {"event": called}
    if options.event.isdecimal() and int(options.event) < k:
        return {"event": own[int(options.event)]}
    expected = f"one of {listed(names)}" if names else f"a number from 0 to {k - 1}"
    expected += ", or 0 for the other class" if len(names) == 1 else ""
    raise ValueError(f"{data.path}: event = {options.event!r}: expected {expected}; name one.")


def _one(options: argparse.Namespace) -> Any:
    """Return the only generator, if one was named."""
    found = options.generator
    if found and len(found) > 1:
        options.refuse(f"argument --generator: --kind {options.kind} shows one")
    return found[0] if found else None


def _shown(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return arguments of a figure that were given."""
    found = flags.given(options, *names)
    generator = _one(options)
    return found if generator is None else {**found, "generator": generator}


def _reliability(files: list[PredictionFile], options: argparse.Namespace) -> Any:
    from propercal.plotting import reliability_diagram

    (data,) = files
    given = {**data_of(data, options), **_shown(options, "notion", "n_bins", "level", "seed")}
    return reliability_diagram(data.y_true, data.y_proba, **given, **_event(data, options))


def _panels(files: list[PredictionFile], options: argparse.Namespace) -> Any:
    from propercal.plotting import reliability_panels

    (data,) = files
    given = {**data_of(data, options), **_shown(options, "n_bins", "level", "seed")}
    return reliability_panels(data.y_true, data.y_proba, **given)


def _decomposition(files: list[PredictionFile], options: argparse.Namespace) -> Any:
    import propercal
    from propercal._files.matching import names_of
    from propercal.plotting import decomposition_bars

    generators = flags.generators_of(options)
    names, results = [], []
    for data, name in zip(files, names_of([each.path for each in files]), strict=True):
        with columns_called(data.class_names):
            found = propercal.decompose(
                data.y_true,
                data.y_proba,
                generator=generators,
                **data_of(data, options),
                **flags.given(options, "notion", "level", "progress", *flags.METHOD_FLAGS),
            )
        for result in found:
            loss = f"{result.generator.name} loss"
            names.append(loss if len(files) == 1 else name)
            names[-1] += f", {loss}" if len(files) > 1 and len(generators) > 1 else ""
            results.append(result)
    return decomposition_bars(results, names=names)


def _of_models(files: list[PredictionFile], options: argparse.Namespace) -> tuple[Any, ...]:
    """Return labels, predictions by model, and what else files and flags say."""
    from propercal._files.matching import matched

    data = matched(files)
    given = {**data.arguments, **_event(files[0], options), **flags.given(options, "notion")}
    models = data.models if len(files) > 1 else next(iter(data.models.values()))
    return data.y_true, models, given


def _murphy(files: list[PredictionFile], options: argparse.Namespace) -> Any:
    from propercal.plotting import murphy_diagram

    y_true, models, given = _of_models(files, options)
    return murphy_diagram(y_true, models, **given, **flags.given(options, "level", "seed"))


def _triptych(files: list[PredictionFile], options: argparse.Namespace) -> Any:
    from propercal.plotting import triptych

    y_true, models, given = _of_models(files, options)
    return triptych(y_true, models, **given, **_shown(options, "n_bins", "level", "seed"))


def _mcb_dsc(files: list[PredictionFile], options: argparse.Namespace) -> Any:
    from propercal._files.matching import matched
    from propercal.plotting import mcb_dsc_plot

    data = matched(files)
    given = {**data.arguments, **_event(files[0], options), **_shown(options, "notion")}
    given.pop("groups", None)
    return mcb_dsc_plot(data.y_true, data.models, **given)


def _simplex(files: list[PredictionFile], options: argparse.Namespace) -> Any:
    from propercal.plotting import simplex_arrows

    (data,) = files
    given = data_of(data, options)
    given.pop("groups", None)
    return simplex_arrows(data.y_true, data.y_proba, **given, **flags.given(options, "bandwidth"))


_KINDS = {
    "reliability": _Kind(_ONE, _reliability),
    "panels": _Kind(_ONE, _panels),
    "decomposition": _Kind(_LINES, _decomposition),
    "murphy": _Kind(_LINES, _murphy),
    "triptych": _Kind(_LINES, _triptych),
    "mcb-dsc": _Kind(_MANY, _mcb_dsc),
    "simplex": _Kind(_ONE, _simplex),
}
