"""`make bench`: a slowdown is seen, noise is not, and a file that cannot be read is named."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.compare import Damaged, Figure, Machine, bad, judge, read, table, verdicts, write

ROOT = Path(__file__).resolve().parent.parent
FIGURE = Figure("a plain loop", "s", [10.0] * 3, [1.0] * 3, [9.0, 10.0, 11.0])


@pytest.mark.parametrize(
    ("now", "before", "word"),
    [
        ([5.0, 5.1, 5.2], [9.0, 10.0, 11.0], "slower"),
        ([5.0], [10.0], "slower"),
        ([8.0, 8.1, 8.2], [9.0, 10.0, 11.0], "as before"),  # outside the range, but little
        ([5.0, 6.0, 9.5], [9.0, 10.0, 11.0], "as before"),  # much, but within the spread
        ([19.0, 20.0, 21.0], [9.0, 10.0, 11.0], "faster"),
        ([0.05, 0.05], [0.1, 0.1], "slower"),  # an overhead: ratios below 1 are judged alike
        ([5.0], None, "new"),
    ],
)
def test_a_slowdown_is_seen_and_noise_is_not(now: list[float], before: list[float] | None, word: str) -> None:
    assert judge(now, before) == word
    assert bad(word) == (word == "slower")


def test_a_passed_limit_is_said_whatever_the_ratio() -> None:
    late = replace(FIGURE, limit=0.5)
    said = verdicts({"help": late, "other": FIGURE}, {"help": FIGURE})
    assert said == {"help": "as before, late (asked: 0.5 s)", "other": "new"}
    assert bad(said["help"])
    assert not bad(said["other"])
    # One repeat within the limit is enough: others may have been disturbed.
    assert verdicts({"help": replace(late, ours=[0.4, 0.9, 0.9])}, None) == {"help": "new"}


def test_figures_come_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "figures.json"
    assert read(path) == {}
    machines = {"a model": Machine({"date": "today"}, {"search": replace(FIGURE, shares=[0.5, 0.6, 0.9])})}
    write(path, machines)
    assert read(path) == machines
    shown = table(machines["a model"].figures, {"search": "new"}, None)
    assert "10 (9..11)" in shown
    assert "| 0.60 " in shown  # of the limit
    assert "0.60" not in table({"search": FIGURE}, {"search": "new"}, None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"figures": {}}', '{"machines": {"a model": {"date": "today"}}}'),
        '{"machines": {"a model": {"figures": {"search": {"ratio": 1}}}}}',
        '{"machines": {"a model": {"figures": 3}}}',
    ],
)
def test_a_damaged_file_is_named_with_a_way_out(text: str, tmp_path: Path) -> None:
    path = tmp_path / "reference.json"
    path.write_text(text)
    with pytest.raises(Damaged, match=r"reference\.json is damaged .*--save writes it anew"):
        read(path)


def call(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    files = ("--out", str(tmp_path / "last.json"), "--reference", str(tmp_path / "reference.json"))
    command = [sys.executable, str(ROOT / "benchmarks" / "all.py"), *files, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)


def again(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The same with the figures of the call before in place of new ones, which take long."""
    code = """
import sys, all
from pathlib import Path
[(_, here)] = all.read(Path(sys.argv[1])).items()
all.collect = lambda names, repeats: (here.figures, [here.about["yardstick"]], {})
sys.argv = sys.argv[1:]
raise SystemExit(all.main())
"""
    files = ("--out", str(tmp_path / "new.json"), "--reference", str(tmp_path / "reference.json"))
    command = [sys.executable, "-c", code, str(tmp_path / "last.json"), *files, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT / "benchmarks")


def test_from_measuring_to_exit_status(tmp_path: Path) -> None:
    release = ("--only", "release", "--repeats", "1")
    first = call(tmp_path, *release, "--save")
    assert first.returncode == 0, first.stderr
    assert "row by row" in first.stdout
    assert "one plain product, numpy, 1 thread, GFLOP/s: search" in first.stdout
    measured = json.loads((tmp_path / "last.json").read_text())
    assert measured == json.loads((tmp_path / "reference.json").read_text())
    [(model, here)] = measured["machines"].items()
    assert {"date", "machine", "versions", "yardstick", "figures"} == set(here)
    for figure in here["figures"].values():
        figure["ratios"] = [1000 * ratio for ratio in figure["ratios"]]
    (tmp_path / "reference.json").write_text(json.dumps(measured))
    slower = again(tmp_path, *release)
    assert (slower.returncode, "slower" in slower.stdout) == (1, True)
    assert again(tmp_path, *release, "--no-fail").returncode == 0
    # The same figures of another model of processor are no measure for this one.
    (tmp_path / "reference.json").write_text(json.dumps({"machines": {"another model": here}}))
    elsewhere = again(tmp_path, *release)
    assert (elsewhere.returncode, "slower" in elsewhere.stdout) == (0, False)
    assert f"knows another model, and this is {model}" in elsewhere.stderr
    assert "--save adds this one" in elsewhere.stderr
    assert again(tmp_path, *release, "--save").returncode == 0
    assert set(read(tmp_path / "reference.json")) == {"another model", model}


def test_a_damaged_reference_is_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "reference.json").write_text("{")
    done = call(tmp_path, "--only", "release")
    assert done.returncode == 2
    assert "is damaged" in done.stderr
    assert not (tmp_path / "last.json").exists()


def test_the_clock_of_start_up_sees_the_child() -> None:
    """A bare Python needs milliseconds; a clock that misses the child's time shows a fraction of one."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "startup.py"), "--repeats", "1", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert [one["name"] for one in measured if one["limit"]] == ["bench --help", "bench run, wrong name"]
    assert all(one["ours"] > one["plain"] > 0.003 for one in measured)


def test_the_page_on_scaling_says_what_was_measured() -> None:
    """docs/scaling.md is what its script makes of the committed numbers."""
    words = ("--page", str(ROOT / "docs" / "scaling.md"), "--check")
    done = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "scaling.py"), *words], timeout=120)
    assert done.returncode == 0


def test_shares_of_the_limit_are_of_one_thread_in_single_precision() -> None:
    """The arithmetic of a share, on numbers made up: all.limit takes the best float32 product of one thread."""
    speeds = {
        "numpy, 1 thread": {"search": 100.0, "wide": 90.0},
        "torch, 1 thread": {"search": 60.0, "wide": 95.0},
        "torch, 12 threads": {"search": 900.0, "wide": 900.0},
        "torch bfloat16, 1 thread": {"search": 200.0, "wide": 210.0},
    }
    code = "import json, sys; from all import limit; print(limit(json.load(sys.stdin)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(speeds),
        cwd=ROOT / "benchmarks",
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) == 100.0


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[1].glob("benchmarks/*.py")), ids=lambda path: path.name)
def test_what_a_benchmark_takes_from_the_suite_is_there(path: Path) -> None:
    """They are run by hand, so a name that moved would be noticed late."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "bench":
            module = importlib.import_module(node.module)
            missing = [
                alias.name
                for alias in node.names
                if not hasattr(module, alias.name) and importlib.util.find_spec(f"{node.module}.{alias.name}") is None
            ]
            assert missing == [], f"{node.module} has no {missing}"
