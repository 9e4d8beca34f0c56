"""The command of a study: presets and factors as options, a run, and what is printed of it."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from propercal._data.words.messages import bad_value
from propercal._interrupts import raise_again
from propercal.experiments.factors import Factors
from propercal.experiments.figures import save
from propercal.experiments.lock import only_run
from propercal.experiments.runner import run
from propercal.experiments.sources import files_of, functions_in
from propercal.experiments.study import Study, functions_of
from propercal.experiments.workers import in_processes, n_cores


def main(study: Study[Any], arguments: Sequence[str] | None = None) -> int:
    """Run the command of a study.

    ``--quick``, ``--full`` and other presets choose the factors, and an option for each factor
    changes it. Datasets and figures go to ``--output``, by default a folder of ``results`` beside
    the script. Tables and verdicts are printed.

    Parameters
    ----------
    study : Study
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int
        Exit status: 0, or 130 after Ctrl-C, which keeps what is finished.

    Raises
    ------
    SystemExit
        With one line: 2 for options that cannot be used, 1 for what else went wrong, such as
        another run in the folder, a full disk or a lost scheduler.
    """
    began = time.perf_counter()
    try:
        if arguments is None:
            raise_again()
        options = _parser(study).parse_args(arguments)
        name, factors = _chosen(study, options)
        folder = options.output or _home(study) / "results" / name
        with only_run(folder / f"{study.name}.nc"):
            summary = run(
                study,
                factors,
                folder,
                data=getattr(options, "data", None),
                n_workers=options.workers,
                scheduler=options.scheduler,
                progress=not options.quiet,
            )
            files = _drawn(study, summary, folder, options.workers or n_cores())
    except KeyboardInterrupt:
        if arguments is None and threading.current_thread() is threading.main_thread():
            # All that is left is to end, which a second Ctrl-C would do with a traceback.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        kept = "Finished cells are kept; the same command goes on from here."
        print(f"\nInterrupted. {kept}", file=sys.stderr)
        return 130
    except (ImportError, OSError, ValueError) as error:
        raise _end(study, error, 1) from error
    print(study.text(summary))
    _report(study, folder, files)
    print(f"Done in {time.perf_counter() - began:.0f} s.")
    return 0


def _end(study: Study[Any], error: Exception, code: int) -> SystemExit:
    """Say what went wrong in one line, and return the end of the command."""
    text = f"{study.name}.py: " + " ".join(str(error).split())
    print(text, file=sys.stderr)
    end = SystemExit(text)
    end.code = code
    return end


def _home(study: Study[Any]) -> Path:
    """Return the folder of the study's script, which may measure by a function of this package."""
    files = files_of(each for given in functions_of(study) for each in functions_in(given))
    return files[0].parent if files else Path(sys.argv[0]).resolve().parent


def _parser(study: Study[Any]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{study.name}.py",
        description=study.about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chosen = parser.add_mutually_exclusive_group()
    for name, (_, explained) in study.presets.items():
        chosen.add_argument(
            f"--{name}",
            dest="preset",
            action="store_const",
            const=name,
            default=study.default,
            help=explained + (" (default)" if name == study.default else ""),
        )
    axes = parser.add_argument_group("factors (default: those of the preset)")
    default, _ = study.presets[study.default]
    for field in _options(default):
        _add_option(axes, field, getattr(default, field.name))
    where = parser.add_argument_group("where to read and run")
    if study.read is not None:
        help_text = "" if study.data is None else f"default: {shown(study.data)}"
        where.add_argument("--data", type=Path, metavar="FOLDER", help=help_text)
    where.add_argument("--workers", type=int, help="local processes (default: one for each core)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler to run the cells on")
    where.add_argument("--output", type=Path, metavar="FOLDER", help="default: results/... here")
    where.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _options(factors: Factors) -> list[dataclasses.Field[Any]]:
    """Return the fields that have an option; a plain field may have the name of another option."""
    fields: list[dataclasses.Field[Any]] = list(dataclasses.fields(factors))  # type: ignore[arg-type]
    return [field for field in fields if field.metadata or field.name == "seed"]


def _add_option(group: Any, field: dataclasses.Field[Any], value: Any) -> None:
    rule = field.metadata
    several = isinstance(value, tuple) or rule.get("one_for") is not None
    example = value[0] if isinstance(value, tuple) and value else value
    kind = type(example) if isinstance(example, int | float) else str
    help_text = rule.get("help")
    if help_text is None and rule.get("among") is not None:
        help_text = ", ".join(rule["among"])
    if help_text is None and rule.get("one_for") is not None:
        help_text = f"one number, or one for each of the {rule['one_for']}"
    group.add_argument(
        f"--{(rule.get('option') or field.name).replace('_', '-')}",
        dest=field.name,
        type=kind,
        metavar=rule.get("metavar") or {int: "N", float: "X"}.get(kind, "NAME"),
        help=help_text,
        **({"nargs": "+"} if several else {}),
    )


def _chosen(study: Study[Any], options: argparse.Namespace) -> tuple[str, Factors]:
    """Return the factors and a name that no others have."""
    base, _ = study.presets[options.preset]
    changed: dict[str, Any] = {}
    for field in _options(base):
        value = getattr(options, field.name, None)
        if value is None:
            # Counts that were given for other levels: the default, if it is one number for all.
            other = field.metadata.get("one_for")
            if other and getattr(options, other) is not None and isinstance(field.default, int):
                changed[field.name] = field.default
        elif isinstance(value, list):
            alone = field.metadata.get("one_for") is not None and len(value) == 1
            changed[field.name] = value[0] if alone else tuple(value)
        else:
            changed[field.name] = value
    try:
        factors = dataclasses.replace(base, **changed)
        design, preset = factors.to_json(), base.to_json()
        if options.workers is not None and options.workers < 1:
            raise bad_value("--workers", options.workers, "1 or more", "leave it out for all cores")
    except ValueError as error:
        raise _end(study, error, 2) from error
    tag = "" if design == preset else "-" + hashlib.sha256(design.encode()).hexdigest()[:8]
    return f"{study.name}-{options.preset}{tag}", factors


def _drawn(study: Study[Any], summary: Any, folder: Path, n_workers: int) -> list[Path]:
    names = [] if study.figures is None else list(study.figures(summary))
    files = in_processes(partial(save, study, summary, folder), names, n_workers)
    return sorted(path for paths in files for path in paths)


def _report(study: Study[Any], folder: Path, files: Iterable[Path]) -> None:
    """Print where datasets and figures lie."""
    datasets = {"Dataset": folder / f"{study.name}.nc"}
    if study.summarise is not None:
        datasets = {"Summary": datasets["Dataset"], "Replicates": folder / "replicates.nc"}
    print()
    for kind, path in datasets.items():
        print(f"{kind:<12}{shown(path)}")
    for path in files:
        if path.suffix == ".png":
            print(f"{'Figure':<12}{shown(path)} (and .svg)")


def shown(path: Path) -> str:
    """Return `path` as a reader would type it: relative to the current directory where it can."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
