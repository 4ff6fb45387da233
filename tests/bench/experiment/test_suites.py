"""Suite files: what they name, and one line for whatever is wrong with one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.experiment import suites
from bench.plugins.registry import Registry

GOOD = 'defense = "none"\nattack = "rss"\n'


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def test_tables_take_defaults_from_the_top(suite: Path) -> None:
    suite.write_text(
        'title = "Mine"\nversion = 3\nattack = "rss"\ndefense = ["none", "mix-only"]\nseed = [4, 5]\nexamples = 10\n'
        "samples = 2\n[[cells]]\n[[cells]]\ndefense = 'texthide:m=4'\nseed = 6\ncoverage = 1\nanswers = true\n"
    )
    found = suites.from_suite(Registry(), str(suite))
    assert [(cell.defense.label, cell.seed) for cell in found] == [
        *(("none", 4), ("mix-only", 4), ("none", 5), ("mix-only", 5)),
        ("texthide:m=4", 6),
    ]
    assert {cell.protocol.examples for cell in found} == {10}
    assert {cell.suite for cell in found} == {("mine", 3)}
    # Answers are kept of the first seed only.
    assert [(cell.samples, cell.answers) for cell in found] == [(2, False)] * 2 + [(0, False)] * 2 + [(2, True)]


def test_a_table_may_be_sealed_whoever_runs_it(suite: Path) -> None:
    suite.write_text('defense = "none"\nattack = "rss"\n[[cells]]\nsealed = true\n[[cells]]\nseed = 1\n')
    found = suites.from_suite(Registry(), str(suite))
    assert [cell.sealed for cell in found] == [True, False]
    assert all(cell.sealed for cell in suites.from_suite(Registry(), str(suite), sealed=True))


def test_a_suite_of_training_says_how_long_to_train(suite: Path) -> None:
    suite.write_text('defense = ["none"]\nseed = [0, 1]\n[[cells]]\n[[cells]]\ntrain_epochs = 5\n')
    found = suites.trials_from_suite(Registry(), str(suite))
    assert [(trial.seed, epochs) for trial, epochs in found] == [(0, None), (1, None), (0, 5), (1, 5)]
    assert found[0][0].suite == ("mine", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('examples = "100"', "examples = '100': a whole number was expected"),
        ("examples = 10.5", "examples = 10.5: a whole number was expected"),
        ('seed = ["zero"]', "seed.0 = 'zero': a whole number was expected"),
        ("seed = []", "seed = []: at least one was expected"),
        ("dataset = 3", "dataset.0 = 3: text was expected"),
        ("cells = 3", "cells = 3: [[cells]] tables were expected"),
        ("cells = [3]", "cells = [3]: [[cells]] tables were expected"),
        ("cells = []", "names no cells"),
        ("version = 0", "version = 0: a whole number from 1 on was expected"),
        ('version = "2"', "version = '2': a whole number was expected"),
        ("title = 7", "title = 7: text was expected"),
        ('split = "test"', "split = 'test': 'train' or 'dev' was expected"),
        ('coverage = "all"', "coverage = 'all': a number was expected"),
        ("coverage = 2.0", "--coverage 2.0: must lie between 0 and 1"),
        ("samples = -1", "samples = -1: a whole number from 0 on was expected"),
        ('answers = "yes"', "answers = 'yes': true or false was expected"),
        ('[[cells]]\n[[cells]]\nexamples = "x"', "cells[1].examples = 'x': a whole number was expected"),
        ("exampels = 3", "unknown key in suite mine.toml 'exampels': did you mean 'examples'?"),
        ('[[cells]]\natack = "rss"', "'atack': did you mean 'attack'?"),
        ("train_epochs = 3", "train_epochs is a key of suites for `bench utility --suite`"),
        ('public = "nowhere"\n[[cells]]\nattack = "rsss"', "unknown attack 'rsss': did you mean 'rss'?"),
        ("seed =", "not a TOML file"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_key_and_what_was_expected(suite: Path, text: str, message: str) -> None:
    suite.write_text(GOOD + text + "\n")
    with pytest.raises(UsageError) as caught:
        suites.from_suite(Registry(), str(suite))
    assert message in str(caught.value)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train_epochs = 0", "train_epochs = 0: a whole number from 1 on was expected"),
        ('attack = "rss"', "attack is a key of suites for `bench run --suite`"),
        ('defence = "none"', "'defence': did you mean 'defense'?"),
        ("cells = []", "names no trials"),
    ],
)
def test_a_mistake_in_a_suite_of_training_is_one_line(suite: Path, text: str, message: str) -> None:
    suite.write_text('defense = "none"\n' + text + "\n")
    with pytest.raises(UsageError) as caught:
        suites.trials_from_suite(Registry(), str(suite))
    assert message in str(caught.value)


def test_a_file_that_is_not_text_is_said(suite: Path) -> None:
    suite.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"mine\.toml: not a TOML file"):
        suites.from_suite(Registry(), str(suite))


def test_an_unknown_suite_is_answered_with_the_closest() -> None:
    with pytest.raises(UsageError, match="unknown suite 'smok': did you mean 'smoke'"):
        suites.find_suite("smok")


def test_every_suite_of_the_project_names_what_exists() -> None:
    for name in suites.suites(training=False, audits=False):
        assert suites.from_suite(Registry(), name)
    for name in suites.suites(attacks=False, audits=False):
        assert suites.trials_from_suite(Registry(), name)
    for name in suites.suites(attacks=False, training=False):
        assert suites.audits_from_suite(Registry(), name)


def test_the_command_line_says_a_mistake_without_a_traceback(
    bench: Callable[..., subprocess.CompletedProcess[str]], suite: Path
) -> None:
    suite.write_text(GOOD + 'examples = "100"\n')
    done = bench("run", "--suite", str(suite))
    assert done.returncode == 2
    assert done.stderr == f"bench: {suite}: examples = '100': a whole number was expected\n"


def test_listing_suites_loads_no_pydantic() -> None:
    code = "import sys; from bench.experiment.suites import suites; suites(); sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_seed_that_is_no_number_is_a_usage_error() -> None:
    from bench.experiment.cells import trials

    with pytest.raises(UsageError, match="seed 'zero': a whole number was expected"):
        trials(Registry(), {"defense": ["none"], "seed": ["zero"]})


def test_a_suite_of_training_is_named_as_one_before_anything_is_run(
    bench: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for suite in ("updates-utility", "main-utility", "texthide-figure2"):
        done = bench("run", "--suite", suite, "--out", str(tmp_path / "out"))
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "bench utility --suite" in done.stderr
    assert not (tmp_path / "out").exists()
