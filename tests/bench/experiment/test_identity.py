"""What makes two questions one, and what makes them two."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest

from bench.experiment import identity
from bench.experiment.cells import Cell, choose
from bench.modalities import text
from bench.plugins.options import restore
from bench.plugins.registry import Registry
from bench.records import store
from bench.records.model import AttackRecord, UtilityRecord
from bench.records.values import exact
from bench.training.frozen import Training
from tests.helpers.cells import SMALL, small_cell, small_trial
from tests.helpers.cli import ROOT

ABOUT: dict[str, Any] = {
    "dataset": {"name": "d", "options": {"size": 3}, "label": "d:size=3", "fingerprint": "df", "modality": "text"},
    "encoder": {"name": "e", "options": {"dim": 8}, "label": "e:dim=8", "fingerprint": "ef"},
    "defense": {"name": "f", "options": {"noise": 0.5, "k": 2}, "label": "f:noise=0.5"},
    "attack": {"name": "a", "options": {"top": 1}, "label": "a", "sees": ["corpus", "encodings"]},
    "public": {"name": "p", "label": "p", "fingerprint": "pf"},
    "protocol": {"examples": 8, "epochs": 1, "candidates": 20, "coverage": 1.0, "split": "train"},
    "training": {"epochs": 20, "rate": 1e-3, "shared": False},
    "sbert": "sf",
    "sealed": True,
    "seed": 0,
}


def changed(path: str, value: Any) -> dict[str, Any]:
    about = copy.deepcopy(ABOUT)
    *parents, last = path.split(".")
    part = about
    for name in parents:
        part = part[name]
    part[last] = value
    return about


def without(path: str) -> dict[str, Any]:
    """The same with a part that is absent."""
    parent, _, last = path.rpartition(".")
    about = copy.deepcopy(ABOUT)
    del (about[parent] if parent else about)[last]
    return about


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((f"{kind}.name", "other") for kind in ("dataset", "encoder", "defense", "attack", "public")),
        *((f"{kind}.options", {"other": 1}) for kind in ("dataset", "encoder", "defense", "attack")),
        *((f"{kind}.fingerprint", "other") for kind in ("dataset", "encoder", "public")),
        ("attack.sees", ["encodings"]),
        ("protocol.examples", 9),
        ("protocol.epochs", 2),
        ("protocol.candidates", 21),
        ("protocol.candidates", None),
        ("protocol.coverage", 0.5),
        ("protocol.split", "dev"),
        ("training.epochs", 21),
        ("training.rate", 2e-3),
        ("training.shared", True),
        ("sbert", "other"),
        ("sealed", False),
        ("seed", 1),
        ("public", None),
    ],
)
def test_what_was_asked_changes_the_id(path: str, value: Any) -> None:
    assert identity.identity(changed(path, value)) != identity.identity(ABOUT)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((f"{kind}.label", "other") for kind in ("dataset", "encoder", "defense", "attack", "public")),
        ("dataset.modality", "images"),
        ("dataset.examples", 7),
        ("dataset.size", 7),
        ("dataset.candidates", 7),
        ("encoder.dim", 7),
        ("code", {"attack": "other"}),
        ("versions", {"python": "4"}),
        ("suites", {"main": 3}),
        ("notes", {"nominal": {"epsilon": 1}}),
        ("metrics", {"recall": {"value": 1.0}}),
        ("status", "failed"),
        ("salt", "s"),
        ("cost", {"attack_s": 1.0}),
        ("id", "0" * 16),
    ],
)
def test_what_was_found_out_or_is_for_readers_does_not(path: str, value: Any) -> None:
    assert identity.identity(changed(path, value)) == identity.identity(ABOUT)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("public", None),
        ("sbert", None),
        ("sealed", False),
        ("training", None),
        ("encoder.fingerprint", None),
        ("protocol.candidates", None),
        ("training.rate", None),
    ],
)
def test_what_is_none_or_false_counts_as_absent(path: str, value: Any) -> None:
    assert identity.identity(changed(path, value)) == identity.identity(without(path))


def test_the_order_of_keys_does_not_count() -> None:
    def turned(part: Any) -> Any:
        return {key: turned(part[key]) for key in reversed(part)} if isinstance(part, dict) else part

    assert list(turned(ABOUT)) != list(ABOUT)
    assert identity.identity(turned(ABOUT)) == identity.identity(ABOUT)


def test_numbers_that_a_record_would_round_are_told_apart() -> None:
    values = (0.0, 1e-10, 2e-10, 0.1, 0.1 + 1e-12, float("inf"), float("-inf"))
    ids = {identity.identity(changed("defense.options", {"noise": value})) for value in values}
    assert len(ids) == len(values)


def test_an_id_never_changes() -> None:
    """Published records are found by it."""
    assert identity.identity(ABOUT) == "926c9119a900995c"


@pytest.fixture(autouse=True)
def code(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The code that records are told to be of; no weights of a scorer are looked at."""
    found = {"attack": "one"}
    monkeypatch.setattr(identity, "code_of", lambda record, find: dict(found))
    monkeypatch.setattr(text, "scorer_fingerprint", lambda: "sbert")
    identity.forget()
    yield found
    identity.forget()


def test_neither_code_nor_suite_nor_samples_change_the_id_of_a_cell(code: dict[str, str]) -> None:
    cell = small_cell()
    record = identity.describe(cell)
    assert record.code == {"attack": "one"}
    code["attack"] = "two"
    others = [cell, replace(cell, suite=("main", 3)), replace(cell, samples=3, answers=True)]
    for other in map(identity.describe, others):
        assert other.id == record.id
        assert other.code == {"attack": "two"}
    trial = small_trial()
    ids = {identity.describe_utility(some, {"epochs": 2}).id for some in (trial, replace(trial, suite=("main", 3)))}
    assert len(ids) == 1


def test_a_description_holds_what_was_asked() -> None:
    record = identity.describe(small_cell({"split": "dev"}, attack="small-reads", dataset="small:size=20,dev=6"))
    assert record.dataset.options["size"] == 20
    assert (record.dataset.size, record.dataset.examples, record.protocol.examples) == (20, 6, 6)
    assert record.dataset.fingerprint.count("-") == 1  # train and dev
    assert (record.encoder.fingerprint, record.sbert) == ("toy-8", "sbert")
    assert record.attack.sees == ["encodings", "public"]
    assert record.public.name == "small-lender"
    assert record.id == identity.identity(record.to_dict())


def ids_of(*cells: Cell) -> set[str]:
    return {identity.describe(cell).id for cell in cells}


def test_cells_that_differ_have_different_ids() -> None:
    cells = [
        small_cell(),
        small_cell(seed=1),
        small_cell(sealed=True),
        small_cell({"examples": 9}),
        small_cell({"split": "dev"}),
        small_cell(dataset="small:word=other"),
        small_cell(dataset="small-alone"),
        small_cell(encoder="toy:dim=9"),
        small_cell(defense="small-plain:noise=1e-10"),
        small_cell(defense="small-plain:noise=2e-10"),
        small_cell(attack="small-names:top=2"),
        small_cell(attack="small-asks"),
    ]
    assert len(ids_of(*cells)) == len(cells)


def test_a_default_that_is_spelled_out_is_the_same_question() -> None:
    assert len(ids_of(small_cell(), small_cell({"examples": 8}), small_cell(defense="small-plain:noise=0"))) == 1


def test_content_that_changed_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = small_cell()
    before = identity.describe(cell).id
    kind = type(cell.dataset.plugin)
    honest = kind.load
    monkeypatch.setattr(kind, "load", lambda self, split: honest(replace(self, word="new"), split))
    assert identity.describe(cell).id == before  # looked at once
    identity.forget()
    assert identity.describe(cell).id != before


@pytest.mark.parametrize(
    ("sizes", "names"),
    [
        ({}, {}),
        ({}, {"dataset": "small:size=5"}),  # trimmed
        ({"examples": 5, "epochs": 2, "candidates": 12, "coverage": 0.4, "split": "dev"}, {}),
        ({}, {"defense": "small-plain:noise=1e-10", "attack": "small-names:top=2"}),
        ({}, {"defense": "small-plain:noise=inf"}),
        ({}, {"defense": "small-plain:noise=0.30000000000000004"}),
        ({}, {"dataset": "small:word=a=b, c"}),
        ({}, {"defense": "small-lends"}),
        ({}, {"defense": "small-lends:public=small-alone"}),
        ({"public": "small-alone:size=7"}, {"attack": "small-reads"}),
        ({}, {"dataset": "small-lender:size=9", "attack": "small-reads"}),
    ],
)
def test_a_record_gives_back_its_cell(sizes: dict[str, Any], names: dict[str, str]) -> None:
    record = identity.describe(small_cell(sizes, seed=3, **names))
    stored = AttackRecord.model_validate(json.loads(json.dumps(record.to_dict())))
    again = identity.describe(identity.cell_of(SMALL, stored))
    assert again.id == record.id
    assert again.to_dict() == record.to_dict()


@pytest.mark.parametrize(
    ("public", "names"),
    [
        ("", {}),
        ("", {"defense": "small-plain:noise=1e-10"}),
        ("", {"defense": "small-lends"}),
        ("small-alone", {"defense": "small-lends"}),
        ("", {"dataset": "small-lender:size=9", "defense": "small-lends"}),
    ],
)
def test_a_record_gives_back_its_trial(public: str, names: dict[str, str]) -> None:
    training = asdict(Training(rate=1e-10))
    record = identity.describe_utility(small_trial(seed=3, public=public, **names), training)
    stored = UtilityRecord.model_validate(json.loads(json.dumps(record.to_dict())))
    again = identity.describe_utility(identity.trial_of(SMALL, stored), stored.training)
    assert again.id == record.id
    assert again.to_dict() == record.to_dict()
    assert identity.describe_utility(identity.trial_of(SMALL, stored), asdict(Training(rate=2e-10))).id != record.id


def test_what_published_records_asked_for_is_asked_for_in_the_same_words() -> None:
    # An option that is new, or has another default, would give each of them another id: see `later` of encoders.
    asked = {
        (kind, part.label, json.dumps(part.options, sort_keys=True))
        for record in store.read_all(ROOT / "leaderboards" / "records")
        for kind in identity.KINDS
        if (part := getattr(record, kind, None)) is not None
    }
    assert len(asked) > 100
    registry = Registry()
    for kind, label, options in sorted(asked):
        found = choose(registry, kind, label).options
        assert json.loads(json.dumps(exact(found), default=str)) == json.loads(options), f"{kind} {label}"


def test_a_later_option_counts_where_it_is_not_at_its_default() -> None:
    plain, packed = (choose(Registry(), "encoder", spec) for spec in ("minilm", "minilm:kernel=packed"))
    assert "kernel" not in plain.options
    assert packed.options == {**plain.options, "kernel": "packed"}
    assert choose(Registry(), "encoder", "minilm:kernel=auto").options == plain.options
    assert restore(type(plain.plugin), plain.options) == plain.plugin
