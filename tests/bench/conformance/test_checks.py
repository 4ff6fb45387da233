"""The conformance suite passes what is right, built-in plugins first, and says what is wrong with the rest."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from bench.conformance import checks
from bench.conformance.checks import FAILED, NOTED, PASSED, CheckSettings
from bench.errors import UsageError
from bench.plugins.registry import Registry
from tests.helpers.cli import PLUGINS, ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]
FLAWED = str(PLUGINS / "flawed.py")
QUICK_ATTACKS = ("rss", "braverman", "magnitude-search")
# Checked here on few defenses, for the sake of time; `bench plugin check` runs them on all.
OTHERS = {
    "unmix": ("unmix", "texthide"),
    "template": ("template:runs=3", "none", "dp-ie-gaussian"),
    "rep-recon": ("rep-recon:epochs=2,hidden=64", "texthide"),
    "xie-hong": ("xie-hong", "none", "texthide"),
    "xie-hong-blind": ("xie-hong-blind", "mix-only"),
    "dlg": ("dlg:steps=3,inner=5", "none", "texthide"),
    "dlg-blind": ("dlg-blind:steps=3,inner=5", "mix-only"),
    "gradient-ratio": ("gradient-ratio", "none", "texthide"),
    "unmix-pictures": ("unmix-pictures", "mix-only", "instahide"),
    "unmix-blind": ("unmix-blind:rounds=3", "none", "instahide"),
    "span": ("span",),
    "span-blind": ("span-blind",),
    "film": ("film",),
    "token-rows": ("token-rows",),
    "unmix-cross": ("unmix-cross:rounds=3", "instahide-cross"),
    "average": ("average", "mix-only", "instahide"),
    "braverman-pictures": ("braverman-pictures", "instahide"),
    "invert": ("invert:rounds=2", "none"),
    "xie-hong-invert": ("xie-hong-invert:rounds=2", "mix-only"),
    "invert-few": ("invert-few:method=nearest,unseen=false,known=200", "none"),
    "carlini": ("carlini:pair_steps=2,steps=2", "instahide-cross"),
    "demask": ("demask:steps=2", "instahide"),
    "public-search": ("public-search:steps=2", "instahide-cross"),
    "unmix-unknown": ("unmix-unknown:rounds=2", "instahide-cross"),
    "unmix-part": ("unmix-part:rounds=2", "instahide-cross"),
    "ks-test": ("ks-test:encodings=40,tests=10", "mix-only", "instahide"),
    "nearest-picture": ("nearest-picture", "mix-only", "instahide"),
}


def marks(spec: str, *defenses: str, budget: float = 60) -> dict[str, tuple[str, str]]:
    (target,) = checks.targets(spec, (FLAWED,))
    lines = list(checks.run_checks(target, CheckSettings(budget, defenses)))
    return {line.what: (line.mark, line.reason) for line in lines}


def failed(found: dict[str, tuple[str, str]]) -> set[str]:
    return {what for what, (mark, _) in found.items() if mark == FAILED}


@pytest.mark.parametrize("name", sorted(Registry().of("defense")))
def test_built_in_defenses_conform(name: str) -> None:
    report = checks.check(name)
    assert report.ok, report


@pytest.mark.parametrize("name", QUICK_ATTACKS)
def test_built_in_attacks_conform(name: str) -> None:
    report = checks.check(name)
    assert report.ok, report
    assert sum(line.what.startswith("runs on ") and line.mark == PASSED for line in report.lines) >= 6, report


@pytest.mark.parametrize("name", OTHERS)
def test_built_in_attacks_that_take_their_time_conform(name: str) -> None:
    found = marks(*OTHERS[name])
    assert failed(found) == set(), found


def test_every_built_in_attack_is_covered_and_documented() -> None:
    for name, entry in Registry().of("attack").items():
        assert name in {*QUICK_ATTACKS, *OTHERS}, name
        assert all(line.mark == PASSED for line in checks.documented(entry.load()))


@pytest.mark.parametrize("name", sorted(Registry().of("dataset")))
def test_built_in_data_sets_conform(name: str, tmp_path: Path) -> None:
    spec = name
    if name == "file":
        path = tmp_path / "train.csv"
        path.write_text("text,label\na dog,1\na cat,0\n")
        spec = f"file:{path}"
    elif name == "hf":
        for split in ("train", "validation"):
            (tmp_path / "default" / split).mkdir(parents=True)
            table = pd.DataFrame({"text": ["a dog", "a cat"], "label": [1, 0]})
            table.to_parquet(tmp_path / "default" / split / "0000.parquet")
        spec = f"hf:{tmp_path}"
    elif name == "pictures":
        image = pytest.importorskip("PIL.Image")
        for i, label in enumerate("ab"):
            (tmp_path / label).mkdir()
            image.effect_noise((8, 8), 50 + i).save(tmp_path / label / "1.png")
        spec = f"pictures:{tmp_path}"
    elif name != "demo":
        folder = os.environ.get("BENCH_DATA_DIR", "")
        task = getattr(Registry().get("dataset", name).load(), "task", "")
        if not folder or (task and not (Path(folder) / "glue" / task / "train.tsv").is_file()):
            pytest.skip(f"{name} is not in BENCH_DATA_DIR")
    report = checks.check(spec)
    assert report.ok, report


@pytest.mark.parametrize(
    ("flaw", "what", "said"),
    [
        ("unseeded", "deterministic", "another guess in a second run on none"),
        ("order", "order of the release", "must not depend on where an item stands"),
        ("peeks", "sees is enough", "add 'labels' to sees"),
        ("refuses", "handles a defense", "none of those tried"),
        ("floats", "runs on none", "expected whole row numbers"),
        ("integer vectors", "runs on none", "expected float32"),
    ],
)
def test_an_attack_with_a_flaw_fails_on_it(flaw: str, what: str, said: str) -> None:
    found = marks(f"flawed-attack:flaw={flaw}", "none")
    assert found[what][0] == FAILED, found
    assert said in found[what][1]
    assert failed(found) <= {what, "runs on none"}
    if flaw == "refuses":  # what never ran is not said to hold
        assert not {"time", "sees is enough", "deterministic"} & found.keys()


def test_an_attack_on_pictures_alone_is_checked_on_pictures() -> None:
    found = marks("flawed-eye")
    assert failed(found) == set(), found
    assert found["runs on texthide"][1].startswith("images 32 × 1 × 1 × 8 × 8 float32")
    assert found["order of the release"] == (PASSED, "answers follow their items")
    assert found["runs on texthide-inter"][0] == NOTED  # public sentences cannot be mixed with pictures


@pytest.mark.parametrize(
    ("flaw", "what", "said"),
    [
        ("unseeded", "deterministic", "another guess in a second run on texthide"),
        ("order", "order of the release", "must not depend on where an item stands"),
        ("shape", "runs on texthide", "expected 32 × dummies × 1 × 8 × 8"),
    ],
)
def test_an_attack_on_pictures_with_a_flaw_fails_on_it(flaw: str, what: str, said: str) -> None:
    found = marks(f"flawed-eye:flaw={flaw}", "texthide")
    assert found[what][0] == FAILED, found
    assert said in found[what][1]


def test_a_slow_attack_is_ended_with_its_budget() -> None:
    found = marks("flawed-attack:flaw=slow", "none", budget=3)
    assert found["time"][0] == FAILED
    assert "longer than 3 s on none" in found["time"][1]


@pytest.mark.parametrize("flaw", ["none", "samples"])
def test_an_attack_may_be_random_as_long_as_rng_decides(flaw: str) -> None:
    assert failed(marks(f"flawed-attack:flaw={flaw}", "none", "texthide")) == set()


def test_a_defense_that_an_attack_refuses_is_noted_and_not_held_against_it() -> None:
    found = marks("flawed-attack:flaw=picky", "none", "dp-ie-laplace")
    assert found["runs on none"][0] == PASSED
    assert found["runs on dp-ie-laplace"][0] == NOTED
    assert "does not handle it: is not made for this" in found["runs on dp-ie-laplace"][1]
    assert failed(found) == set()


def test_grants_that_are_never_touched_are_reported_and_encoders_need_no_weights() -> None:
    found = marks("flawed-asks-much", "none")
    assert found["sees is used"][0] == NOTED
    assert "never touched: labels" in found["sees is used"][1]
    assert "texts in" in found["runs on none"][1]
    assert failed(found) == set()


def test_a_plugin_that_says_nothing_of_itself_fails() -> None:
    found = marks("flawed-silent", "none")
    assert failed(found) == {"docstring", "paper", "options"}
    assert "below top" in found["options"][1]


@pytest.mark.parametrize(
    ("flaw", "what", "said"),
    [
        ("rng", "same rng", "draw all randomness from rng"),
        ("order", "order of the release", "the same order for every rng"),
        ("epochs in order", "order of the release", "the first epoch's"),
        ("stale", "fresh randomness", "the same encoding in every epoch"),
        ("gradients", "gradients flow", "without a gradient"),
        ("key", "key explains release", "put every draw into the key"),
        ("labels", "labels", "sum to 1"),
        ("inputs", "inputs", "copy first"),
        ("shape", "releases", "expected (192, 24)"),
        ("owner", "releases", "does not mix into it"),
        ("double", "encodings", "float64, not float32"),
        ("raises", "releases", "RuntimeError: the dog ate it"),
        ("notes", "what attackers may know", "not JSON serializable"),
    ],
)
def test_a_defense_with_a_flaw_fails_on_it(flaw: str, what: str, said: str) -> None:
    found = marks(f"flawed-defense:flaw={flaw}")
    assert found[what][0] == FAILED, found
    assert said in found[what][1]
    # A release that cannot be repeated, or whose vectors were overwritten, shows in more than one place.
    assert flaw in ("rng", "inputs") or failed(found) == {what}


def test_an_epsilon_that_is_claimed_must_be_accounted_for() -> None:
    assert failed(marks("flawed-epsilon")) == {"accounting"}
    assert failed(marks("flawed-defense")) == set()
    assert marks("none")["accounting"] == (NOTED, "claims no ε")


@pytest.mark.parametrize(
    ("flaw", "what", "said"),
    [
        ("empty", "loads train", "1 texts are empty"),
        ("same", "loads train", "all texts are the same"),
        ("list", "loads train", "load() gave list, not bench.Examples"),
        ("raises", "loads train", "KeyError"),
        ("labels", "loads train", "class numbers must lie between 0 and 1"),
        ("process", "train is the same in another process", "other texts"),
        ("set", "train is the same in another process", "another order"),
    ],
)
def test_a_data_set_with_a_flaw_fails_on_it(flaw: str, what: str, said: str) -> None:
    found = marks(f"flawed-dataset:flaw={flaw}")
    assert said in found[what][1], found
    assert {"public corpus", "metrics"} <= failed(found)
    assert found["loads dev"] == (NOTED, "has a train split only")
    if flaw != "labels":
        assert found[what][0] == FAILED


def test_encoders_are_checked_too() -> None:
    assert failed(marks("flawed-encoder:flaw=neighbours")) == {"a function of the text"}
    assert failed(marks("flawed-encoder")) == set()


def test_a_file_stands_for_its_plugins_and_a_broken_one_fails(bench: Run, tmp_path: Path) -> None:
    assert len(checks.targets(FLAWED)) == 8
    with pytest.raises(UsageError, match="stands for 8 plugins"):
        checks.check(FLAWED)
    path = tmp_path / "bad.py"
    path.write_text(f"import not_there_xyz\n{(PLUGINS / 'toy.py').read_text().replace('from __future__', '# ')}")
    done = bench("plugin", "check", str(path))
    assert done.returncode == 1
    assert "- ✗ imports: it imports 'not_there_xyz', which is not installed" in done.stdout
    path.write_text("def broken(:")
    done = bench("plugin", "check", str(path))
    assert done.returncode == 1
    assert "- ✗ imports: cannot be read: invalid syntax (bad.py, line 1)" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["rsss"], "did you mean 'rss'"),
        (["rss:topp=1"], "did you mean 'top'"),
        (["nowhere.py"], "no such Python file"),
        ([str(ROOT / "examples" / "gaussian-noise")], "is a folder: install it (pip install -e "),
        (["numpy"], "package numpy announces no plugin"),
        (["rss", "--budget", "0"], "seconds above 0"),
        (["rss", "--defense", "texthid"], "did you mean 'texthide'"),
    ],
)
def test_wrong_calls_exit_2_with_one_line(bench: Run, args: Sequence[str], said: str) -> None:
    done = bench("plugin", "check", *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_the_checklist_is_markdown_and_the_status_says_whether_it_holds(bench: Run) -> None:
    done = bench("plugin", "check", "rss", "--defense", "none")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("### attack rss (hideseek")
    assert "- ✓ runs on none: ranking 32 × 16 int64" in done.stdout
    assert "0 fail" in done.stdout.splitlines()[-1]
    done = bench("plugin", "check", "flawed-dataset", "--plugin", FLAWED)
    assert done.returncode == 1
    assert "- ✗ metrics: ['luck'] are not among accuracy" in done.stdout
