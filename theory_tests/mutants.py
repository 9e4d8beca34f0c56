"""Mutation testing: break the package in thousands of small ways, and count what the tests notice.

`make mutants` runs this. mutmut makes the mutants, in a copy of the package in build/mutants; the
source tree stays as it is. mutmut's own runner starts pytest once per mutant, which takes longer
than the tests that notice a mutant. Here pytest collects the tests once, and a child is forked for
each mutant, which runs the tests that reach the mutated function until one fails.

    python theory_tests/mutants.py [PATTERN ...]

runs the mutants whose names match a pattern (those of all modules without one), for instance
"propercal._data.predictions.notions.*", and then prints a table; the changes that no test noticed are written to
build/mutants/survivors.txt. MUTANTS_STEP=4 runs every fourth mutant (MUTANTS_FIRST=1: from the
second on), MUTANTS_SECONDS=30 more tests on each, and MUTANTS_TESTS="FILE ..." other tests, such as
those written for survivors.
theory_tests/mutants.md says what was found.

Do not run code in the process while it works (by a debugger, for instance): what is left open there is a warning in
every child, which fails its first test, and every mutant counts as killed.

Not mutated, by rule:

- annotations, docstrings, and what is computed outside of functions (mutmut leaves these out);
- the words of a message: the arguments of `bad_value`, `unknown_name`, `warn`, `ImportError`, and
  of `reasons.append`. When one is raised is mutated. See `do_not_mutate_patterns` in pyproject.toml.
"""

from __future__ import annotations

import ast
import collections
import difflib
import fnmatch
import gc
import importlib
import json
import os
import pickle
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "mutants"
PROCESSES = 2
#: A mutant that outlives tests of this duration, a few of every test function, counts as survivor.
SECONDS = float(os.environ.get("MUTANTS_SECONDS", "4"))
#: Every so manyth mutant is run, from which one on.
STEP = int(os.environ.get("MUTANTS_STEP", "1"))
FIRST = int(os.environ.get("MUTANTS_FIRST", "0"))
MODULES = (
    "_data/predictions/notions.py", "_kernels/*.py", "_methods/debiased.py", "_methods/published.py", "_methods/terms.py",
    "_results/estimates.py", "_results/saved.py", "decomposition.py", "generators/*.py", "information/*.py", "methods.py",
    "result.py", "terms.py",
)
#: Laws and contracts of these modules, without those that start processes or are of other modules.
CONTRACTS = (
    "advice_on_orders", "backends", "criteria", "bad_input", "bandwidth_search", "categories", "dask_input", "debiased_contract",
    "decompose_contract", "edges", "few_rows", "generator_backends", "generator_edges", "generator_names",
    "good_input", "gradients", "information", "lattice", "methods", "notions", "order_of_classes", "reading_arguments",
    "recalibrators", "resources", "result", "result_forms", "saved_results", "sums", "transforms",
)
OTHER_LAWS = (
    "bias_rate", "simulation", "scenarios", "calibration_test", "label_sets", "label_sums", "residual_tables",
    "sketch", "sketch_sums", "sketch_tables", "strategies",
)
TESTS = (
    "theory_tests/laws",
    "theory_tests/oracles/test_bandwidth.py",
    "theory_tests/oracles/test_brute_force.py",
    *(f"theory_tests/contracts/test_{name}.py" for name in CONTRACTS),
    *(f"--ignore=theory_tests/laws/test_{name}.py" for name in OTHER_LAWS),
    # Longer than the time of a mutant.
    "--deselect=theory_tests/laws/test_debiased.py::test_bias_is_small_and_intervals_cover_on_the_simulation_of_the_paper",
    # The caller of a function in the copy is mutmut.
    "--deselect=theory_tests/contracts/test_bad_input.py::test_a_warning_points_at_the_caller",
    "--deselect=theory_tests/contracts/test_dask_input.py::test_warnings_of_partitions_are_passed_on_once",
)
#: mutmut makes no mutants of a decorated function, for fear of what its decorator might do. These
#: are harmless: they are applied to the function that picks the mutant.
DECORATORS = frozenset({"final", "ignore_underflow", "_infinite", "property", "cached_property", "cache"})
COLUMNS = ("killed", "survived", "timeout", "no tests")


def undecorated(source: str) -> str:
    """Turn `@d` above a function f into `f = d(f)` below it, on top level and in classes."""
    tree = ast.parse(source)
    lines = source.splitlines()
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    functions = [
        node
        for body in bodies
        for node in body
        if isinstance(node, ast.FunctionDef)
        and node.decorator_list
        and DECORATORS.issuperset(ast.unparse(d) for d in node.decorator_list)
    ]
    for node in sorted(functions, key=lambda node: node.lineno, reverse=True):
        names = [ast.unparse(decorator) for decorator in node.decorator_list]
        indent = " " * node.col_offset
        lines[node.end_lineno : node.end_lineno] = [
            f"{indent}{node.name} = {name}({node.name})" for name in reversed(names) if name != "final"
        ]
        del lines[node.decorator_list[0].lineno - 1 : node.lineno - 1]
    return "\n".join(lines) + "\n"


def make_mutants() -> dict[str, str]:
    """Write the copy, in which each function has its mutants beside it; return names and changes."""
    shutil.rmtree(COPY, ignore_errors=True)
    for name in ("propercal", "theory_tests"):
        shutil.copytree(ROOT / name, COPY / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "pyproject.toml", COPY)
    os.chdir(COPY)
    from mutmut.mutation.file_mutation import mutate_file_contents

    changes = {}
    for path in sorted(path for module in MODULES for path in Path("propercal").glob(module)):
        made = mutate_file_contents(str(path), undecorated(path.read_text(encoding="utf-8")))
        path.write_text(made.code, encoding="utf-8")
        functions = {
            node.name: ast.unparse(node).splitlines()
            for node in ast.walk(ast.parse(made.code))
            if isinstance(node, ast.FunctionDef)
        }
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        for name in made.mutant_names:
            original = functions[f"{name.rpartition('__mutmut_')[0]}__mutmut_orig"]
            difference = difflib.unified_diff(original[1:], functions[name][1:], n=0, lineterm="")
            changed = [line for line in difference if not line.startswith(("---", "+++", "@@"))]
            # An argument's default stands in the line of the name.
            changes[f"{module}.{name}"] = "\n".join(changed or functions[name][:1])
    return changes


class Mutants:
    """A pytest plugin that runs the collected tests on every mutant instead of once."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.outcomes: dict[str, str] = {}
        # pytest captures the other way out.
        self.terminal = os.dup(sys.stderr.fileno())
        self.failed = False
        #: How many mutants each test noticed: such tests come first.
        self.kills: collections.Counter[str] = collections.Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def say(self, text: str) -> None:
        os.write(self.terminal, f"{text}\n".encode())

    def passes(self, item: pytest.Item) -> bool:
        """Run a test; skipped counts as passed."""
        self.failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        durations, reached = self._trial(session)
        items = {item.nodeid: item for item in session.items}
        gc.freeze()
        running: dict[int, tuple[str, int]] = {}
        for name in self.names:
            function = name.rpartition("__mutmut_")[0]
            chosen = in_turn(sorted(reached.get(function, ())), durations)
            if not chosen:
                self.outcomes[name] = "no tests"
                continue
            expected = sum(durations[test] for test in chosen)
            if len(running) == PROCESSES:
                self._wait(running)
            chosen.sort(key=lambda test: -self.kills[test])
            source, sink = os.pipe()
            pid = os.fork()
            if not pid:
                self._child(name, [items[test] for test in chosen], expected, sink)
            os.close(sink)
            running[pid] = name, source
        while running:
            self._wait(running)
        return True

    def _wait(self, running: dict[int, tuple[str, int]]) -> None:
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        name, source = running.pop(pid)
        with os.fdopen(source, "rb") as file:
            self.kills.update([file.read().decode()])
        killed_by_time = code in {-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL}
        self.outcomes[name] = "timeout" if killed_by_time else "survived" if code == 0 else "killed"
        if len(self.outcomes) % 50 == 0:
            Path("outcomes.json").write_text(json.dumps(self.outcomes, indent=1), encoding="utf-8")
            found = collections.Counter(self.outcomes.values())
            self.say(f"{len(self.outcomes)} of {len(self.names)}: {dict(found)}")

    def _child(self, name: str, items: Sequence[pytest.Item], expected: float, sink: int) -> None:
        from mutmut.mutation.trampoline import set_mutant_under_test

        code = 1
        try:
            limit = int(3 * expected) + 5 + int(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # For a mutant that waits: on a busy machine time passes faster than it is used.
            signal.alarm(10 * limit)
            set_mutant_under_test(name)
            killer = next((item for item in items if not self.passes(item)), None)
            if killer is None:
                code = 0
            else:
                os.write(sink, killer.nodeid.encode())
        finally:
            os._exit(code)

    def _trial(self, session: pytest.Session) -> tuple[dict[str, float], dict[str, list[str]]]:
        """Run every test once without a mutant, in a child; see what it reaches, and how fast."""

        def trial() -> Any:
            from mutmut.mutation.trampoline import set_mutant_under_test
            from mutmut.state import state

            set_mutant_under_test("stats")
            durations: dict[str, float] = {}
            reached: dict[str, list[str]] = collections.defaultdict(list)
            for item in session.items:
                state()._stats.clear()
                start = time.perf_counter()
                if not self.passes(item):
                    raise AssertionError(f"{item.nodeid} fails without a mutant")
                durations[item.nodeid] = time.perf_counter() - start
                for function in state()._stats:
                    reached[function].append(item.nodeid)
            return durations, dict(reached), sorted(sys.modules)

        durations, reached, modules = in_child(trial, self.say)
        # What the tests import would otherwise be imported again by every child.
        for module in modules:
            if module not in sys.modules and not module.startswith(("propercal", "theory_tests")):
                try:
                    importlib.import_module(module)
                except Exception as error:  # noqa: BLE001  # some import only in a certain order
                    self.say(f"{module} is left to the children: {error}")
        return durations, reached


def in_child(work: Callable[[], Any], say: Callable[[str], None]) -> Any:
    """Return what `work` returns in a forked child."""
    source, sink = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            with os.fdopen(sink, "wb") as file:
                pickle.dump(work(), file)
            code = 0
        except BaseException as error:  # noqa: BLE001
            say(repr(error))
        finally:
            os._exit(code)
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        content = file.read()
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("the tests do not pass without a mutant")
    return pickle.loads(content)  # noqa: S301  # from our own child


def in_turn(tests: Sequence[str], durations: dict[str, float]) -> list[str]:
    """Order tests so that every test function gets equal time, fast cases first, up to SECONDS."""
    spent: dict[str, float] = collections.defaultdict(float)
    place = {}
    for test in sorted(tests, key=lambda test: durations[test]):
        function = test.partition("[")[0]
        spent[function] += durations[test]
        place[test] = spent[function]
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda test: place[test]):
        total += durations[test]
        if total > SECONDS:
            break
        chosen.append(test)
    return chosen


def table(outcomes: dict[str, str]) -> str:
    """Lay out, by module, what became of the mutants, and the share that the tests noticed."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name, outcome in outcomes.items():
        counts[name.partition(".x")[0].removeprefix("propercal.")][outcome] += 1
    total = collections.Counter(outcomes.values())
    width = max(map(len, counts))
    lines = [f"{'module':{width}}  mutants" + "".join(f"  {column:>8}" for column in COLUMNS)]
    for name, found in [*sorted(counts.items()), ("total", total)]:
        cells = "".join(f"  {found[column]:8}" for column in COLUMNS)
        lines.append(f"{name:{width}}  {found.total():7}{cells}")
    noticed = (total["killed"] + total["timeout"]) / total.total()
    lines.append(f"{noticed:.1%} killed or timed out")
    return "\n".join(lines)


def main(patterns: Sequence[str]) -> None:
    start = time.monotonic()
    changes = make_mutants()
    Path("changes.json").write_text(json.dumps(changes, indent=1), encoding="utf-8")
    names = [n for n in changes if any(fnmatch.fnmatch(n, p) for p in patterns or ["*"])]
    names = names[FIRST::STEP]
    plugin = Mutants(names)
    sys.path.insert(0, str(COPY))
    options = ["-o", "addopts=--import-mode=importlib", "-p", "no:xdist", "-p", "no:cacheprovider"]
    options += ["-p", "no:terminal", "--rootdir=."]
    tests = os.environ.get("MUTANTS_TESTS", "").split() or TESTS
    code = pytest.main([*options, *tests], plugins=[plugin])
    Path("outcomes.json").write_text(json.dumps(plugin.outcomes, indent=1), encoding="utf-8")
    if code and len(plugin.outcomes) < len(names):
        raise SystemExit(int(code))
    survivors = [name for name in names if plugin.outcomes[name] in {"survived", "no tests"}]
    Path("survivors.txt").write_text(
        "".join(f"{plugin.outcomes[name]}: {name}\n{changes[name]}\n\n" for name in survivors), encoding="utf-8"
    )
    minutes = (time.monotonic() - start) / 60
    sys.stdout.write(f"{table(plugin.outcomes)}, in {minutes:.0f} minutes\n")


if __name__ == "__main__":
    # Before numpy, torch and Hypothesis are imported, which read them.
    os.environ |= {
        "HYPOTHESIS_PROFILE": "mutants", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "PROPERCAL_NUM_THREADS": "2",
    }
    sys.dont_write_bytecode = True
    main(sys.argv[1:])
