"""Which changes of this project's own code make a record stale, and which component they are blamed on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import IN_CHECKOUT, ROOT
from bench.experiment import provenance
from bench.plugins.registry import Registry
from bench.records.ledger import Equivalence, Ledger
from bench.records.model import AttackRecord, Record
from tests.helpers.records import bare_record

FOLDERS = ("bench", "attacks", "defenses", "datasets")
pytestmark = pytest.mark.skipif(not IN_CHECKOUT, reason="reads this project's source folders")

Change = Callable[[str, str, str], set[str]]


def made(attack: str = "unmix", defense: str = "texthide", dataset: str = "demo", **changes: Any) -> AttackRecord:
    sees = {"unmix": ["corpus", "defense", "encodings"], "gradient-ratio": ["defense", "gradients"]}
    about = {
        "attack": {"name": attack, "label": attack, "sees": sees.get(attack, ["corpus", "encodings"])},
        "metrics": {"recall": {"value": 0.5}},
    }
    return bare_record(attack, defense, dataset).replace(**{**about, **changes})


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("house")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, home / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return home


@pytest.fixture
def blamed(copied: Path, tmp_path: Path) -> Change:
    """Components whose hash changes when a text in a file is replaced."""

    def change(file: str, old: str, new: str, record: Record | None = None) -> set[str]:
        record = record or made()
        home = tmp_path / f"changed {len(list(tmp_path.iterdir()))}"  # what was read of a folder is kept
        shutil.copytree(copied, home, dirs_exist_ok=True)
        text = (home / file).read_text(encoding="utf-8")
        assert text.count(old) >= 1, f"{file} has no {old!r}: the test must follow the code"
        (home / file).write_text(text.replace(old, new, 1), encoding="utf-8")
        before = provenance.code_of(record, Registry().get, copied)
        after = provenance.code_of(record, Registry().get, home)
        return {component for component in before if before[component] != after[component]}

    return change


def test_a_comment_or_the_text_of_an_error_blames_nobody(blamed: Change) -> None:
    assert blamed("bench/errors.py", "class BenchError", "# a comment\nclass BenchError") == set()


def test_a_docstring_blames_nobody(blamed: Change) -> None:
    assert blamed("bench/toolkit/mixing.py", '"""', '"""Other words. ') == set()


def test_a_constant_in_mixing_is_seen_by_all_that_mix(blamed: Change) -> None:
    text = (ROOT / "bench/toolkit/mixing.py").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("BLOCK"))
    assert {"setup", "defense"} <= blamed("bench/toolkit/mixing.py", line, "BLOCK = 12345")


def test_a_default_of_an_option_blames_its_plugin(blamed: Change) -> None:
    assert blamed("defenses/texthide.py", "k: int = 4", "k: int = 5") == {"defense"}


def test_a_factor_in_the_leak_of_each_example_blames_scoring(blamed: Change) -> None:
    file = "bench/scoring/per_example.py"
    assert blamed(file, "leak.astype", "(2 * leak).astype") == {"scoring"}


def test_another_generator_for_attacks_blames_the_surface(blamed: Change) -> None:
    assert "surface" in blamed("bench/system/seeds.py", '"attack", name', '"assault", name')
    assert blamed("bench/isolation/child.py", "np.random.default_rng(", "np.random.default_rng(1 + ") == {"surface"}


def test_an_attack_is_not_blamed_for_another(blamed: Change) -> None:
    assert blamed("attacks/rss.py", "top: int = 16", "top: int = 17") == set()
    assert blamed("attacks/rss.py", "top: int = 16", "top: int = 17", made("rss")) == {"attack"}


def test_gradients_count_only_for_who_sees_them(blamed: Change) -> None:
    found = provenance.entry_points(made(), Registry().get)["surface"]
    more = provenance.entry_points(made("gradient-ratio"), Registry().get)["surface"]
    assert set(more) - set(found) == {
        "bench.surfaces.gradients:Gradients",
        *("bench.modalities.text:victim", "bench.modalities.text:inputs"),
    }
    assert set(found) - set(more) == {"bench.surfaces.encodings:Encodings"}


def test_a_metric_counts_for_records_that_hold_it(blamed: Change) -> None:
    file = "bench/scoring/metrics/corpus.py"
    ranked = {"recall": {"value": 0.5}, "success": {"value": 0.5}}
    record = made("rss").replace(metrics=ranked)
    assert blamed(file, "return matching.error", "return 2 * matching.error", record) == set()
    assert blamed(file, "np.isin(slot, counted)", "np.isin(counted, slot)", record) == {"scoring"}
    vectors = made("rss").replace(metrics={"cosine": {"value": 0.5}, "error": {"value": 0.5}})
    assert blamed(file, "return matching.error", "return 3 * matching.error", vectors) == {"scoring"}


def test_how_a_metric_is_shown_blames_nobody(blamed: Change) -> None:
    record = made("rss").replace(metrics={"recall": {"value": 0.5}})
    file = "bench/scoring/metrics/corpus.py"
    assert blamed(file, "order=70", "order=5", record) == set()
    assert blamed(file, 'title="share of all sentences mixed', 'title="share of the', record) == set()
    assert blamed("bench/scoring/table.py", "worst: float = 0.0", "worst: float = 0.5", record) == set()


def test_the_kind_of_guess_is_read_off_the_metrics_of_old_records() -> None:
    names = {
        "ranking": ("identity", "jaccard", "tfidf", "label", "sbert", "hit", "recall", "success"),
        "vectors": ("identity", "jaccard", "success", "cosine", "error"),
        "images": ("recall", "success", "mse", "psnr"),
    }
    for kind, metrics in names.items():
        assert provenance.kind_of(made("rss").replace(metrics={name: {"value": 0.5} for name in metrics})) == kind


def test_a_metric_of_another_version_makes_a_record_stale_and_stops_nothing() -> None:
    registry, record = Registry(), made("rss").replace(metrics={"recall": {"value": 0.5}, "theirs": {"value": 0.5}})
    other = record.replace(code={**provenance.code_of(record, registry.get), "scoring": "theirs"})
    assert provenance.kind_of(other) == "ranking"
    assert provenance.standing(other, registry, Ledger([])) == provenance.Standing("stale", ("scoring",))


def test_every_kind_of_record_has_entry_points_that_exist() -> None:
    registry = Registry()
    for attack, dataset, encoder in (("unmix", "demo", "minilm"), ("gradient-ratio", "demo", "mpnet")):
        record = made(attack, dataset=dataset, encoder={"name": encoder, "label": encoder})
        assert len(provenance.code_of(record, registry.get)) == 7
    pictures = made("dlg", dataset="digits").replace(
        dataset={"name": "digits", "label": "digits", "fingerprint": "d", "modality": "images"},
        encoder={"name": "lenet", "label": "lenet"},
        metrics={"success": {"value": 0.5}},
    )
    assert "scoring" in provenance.code_of(pictures, registry.get)
    definitions = provenance.definitions_of(made(), registry.get)
    assert "bench.attacks.unmix:Unmix" in definitions["attack"]


def test_standing_follows_code_and_ledger() -> None:
    registry, record = Registry(), made()
    code = provenance.code_of(record, registry.get)
    current = record.replace(code=code)
    assert provenance.standing(current, registry, Ledger([])).status == "current"
    older = record.replace(code={**code, "attack": "0ld"})
    assert provenance.standing(older, registry, Ledger([])) == provenance.Standing("stale", ("attack",))
    about = {"component": "attack", "from": "0ld", "to": code["attack"], "reason": "r", "agreement": "a"}
    known = Ledger([Equivalence.model_validate({**about, "replayed": []})])
    assert provenance.standing(older, registry, known).status == "equivalent"


def test_a_plugin_that_is_not_here_is_unknown() -> None:
    record = made().replace(attack={"name": "theirs", "label": "theirs", "sees": ["encodings"]})
    assert provenance.standing(record, Registry(), Ledger([])) == provenance.Standing("unknown", ("attack",))


def test_a_plugin_file_counts_and_may_be_edited(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    source = """from dataclasses import dataclass
from bench import Guess, attack

FACTOR = 1

@attack("mine", sees={{"encodings", "corpus"}})
@dataclass(frozen=True)
class Mine:
    def run(self, view, rng):
        return Guess(ranking=view.corpus.search(view.encodings * {factor}, 1))
"""
    file.write_text(source.format(factor="FACTOR"), encoding="utf-8")
    record = made().replace(attack={"name": "mine", "label": "mine", "sees": ["corpus", "encodings"]})
    registry = Registry((str(file),))
    before = provenance.code_of(record, registry.get)["attack"]
    assert provenance.code_of(record, registry.get)["attack"] == before
    file.write_text(source.format(factor="2"), encoding="utf-8")
    assert provenance.code_of(record, registry.get)["attack"] != before
