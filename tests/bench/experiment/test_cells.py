"""Cells from names and options: their order, what is refused before anything is loaded, and the public corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.errors import UsageError
from bench.experiment import cells
from bench.plugins.registry import Registry
from tests.helpers.cells import CHOICE, SMALL, small_cell, small_trial
from tests.helpers.cli import PLUGINS

AXES: dict[str, list[Any]] = {kind: [spec] for kind, spec in CHOICE.items()}


def test_neighbours_share_most_work() -> None:
    """Data and vectors first, then the draw of the private examples, then the release."""
    axes = {
        "attack": ["small-names", "small-asks"],
        "seed": [1, 0],
        "defense": ["small-plain", "none"],
        "encoder": ["toy:dim=8", "toy:dim=4"],
        "dataset": ["small", "small-alone"],
    }
    found = cells.cells(SMALL, axes, {})
    places = [(c.dataset.label, c.encoder.label, c.seed, c.defense.label, c.attack.label) for c in found]
    wanted = [
        (dataset, encoder, seed, defense, attack)
        for dataset in axes["dataset"]
        for encoder in axes["encoder"]
        for seed in axes["seed"]
        for defense in axes["defense"]
        for attack in axes["attack"]
    ]
    assert places == wanted
    trials = cells.trials(SMALL, {**axes, "attack": None})
    places = [(t.dataset.label, t.encoder.label, t.defense.label, t.seed) for t in trials]
    wanted = [
        (dataset, encoder, defense, seed)
        for dataset in axes["dataset"]
        for encoder in axes["encoder"]
        for defense in axes["defense"]
        for seed in axes["seed"]
    ]
    assert places == wanted


def test_defaults_stand_in_for_what_was_not_named() -> None:
    (cell,) = cells.cells(SMALL, {"defense": ["none"], "attack": ["rss"]}, {"examples": None, "public": None})
    assert (cell.dataset.label, cell.encoder.label, cell.seed) == ("demo", "minilm", 0)
    assert cell.protocol == cell.attack.info.protocol
    assert (cell.fixed_size, cell.sealed, cell.samples, cell.answers, cell.suite) == (False, False, 0, False, None)
    (trial,) = cells.trials(SMALL, {"defense": ["none"], "dataset": [], "seed": None})
    assert (trial.dataset.label, trial.encoder.label, trial.seed) == ("demo", "minilm", 0)


@pytest.mark.parametrize("kind", ["defense", "attack"])
@pytest.mark.parametrize("given", [None, []])
def test_a_defense_and_an_attack_have_to_be_named(kind: str, given: Any) -> None:
    with pytest.raises(UsageError, match=f"name at least one {kind} .--{kind} NAME"):
        cells.cells(SMALL, {**AXES, kind: given}, {})


@pytest.mark.parametrize("kind", ["dataset", "encoder", "defense", "attack"])
def test_an_unknown_name_is_answered_before_any_plugin_is_imported(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Registry, "make", lambda *args: pytest.fail("a plugin was made"))
    with pytest.raises(UsageError, match=f"unknown {kind} 'smalk-nothing'"):
        cells.cells(SMALL, {**AXES, kind: [CHOICE[kind], "smalk-nothing:k=2"]}, {})


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(UsageError, match="unknown option of attack small-names 'topp': did you mean 'top'"):
        small_cell(attack="small-names:topp=2")


@pytest.mark.parametrize("seed", ["1", 1.0, None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(UsageError, match=f"seed {seed!r}: a whole number was expected"):
        cells.cells(SMALL, {**AXES, "seed": [0, seed]}, {})


def test_sizes_replace_parts_of_the_protocol_of_the_attack() -> None:
    cell = small_cell({"epochs": 3, "coverage": None})
    assert (cell.protocol.examples, cell.protocol.epochs, cell.protocol.coverage) == (8, 3, 0.5)
    assert not cell.fixed_size
    assert small_cell({"examples": 8}).fixed_size
    with pytest.raises(UsageError, match="--coverage 2"):
        small_cell({"coverage": 2})


@pytest.mark.parametrize(
    ("dataset", "encoder", "attack", "said"),
    [
        ("small-pictures", "toy", "small-looks", "'small-pictures' holds images, and encoder 'toy' works on text"),
        ("small-pictures", "lenet", "small-names", "holds images, and attack 'small-names' works on text"),
        ("small", "lenet", "small-looks", "'small' holds text, and encoder 'lenet' works on images"),
    ],
)
def test_data_goes_to_what_takes_it(dataset: str, encoder: str, attack: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        small_cell(dataset=dataset, encoder=encoder, attack=attack)
    if "encoder" in said:
        with pytest.raises(UsageError, match=said):
            small_trial(dataset=dataset, encoder=encoder)


def test_an_attack_on_pictures_has_no_sentences_to_name() -> None:
    pictures = small_cell(dataset="small-pictures", encoder="lenet", attack="small-looks")
    assert pictures.sees == ("encodings",)
    assert small_cell(attack="small-looks").sees == ("corpus", "encodings")


@pytest.mark.parametrize(
    ("names", "named", "public"),
    [
        ({}, "", None),  # nobody wants one
        ({}, "small-alone", None),
        ({"attack": "small-reads"}, "", "small-lender"),  # the data set's own choice
        ({"attack": "small-reads"}, "small-alone:size=9", "small-alone:size=9"),
        ({"defense": "small-lends"}, "", "small-lender"),
        ({"defense": "small-lends"}, "small-alone", "small-alone"),
        ({"defense": "small-lends:public=small-alone"}, "small", "small-alone"),  # the defense is more particular
        ({"defense": "small-lends:public=", "attack": "small-names"}, "small-alone", None),
        ({"defense": "small-lends:public=", "attack": "small-reads"}, "small-alone", "small-alone"),
        ({"dataset": "small-lender:size=9", "attack": "small-reads"}, "", "small-lender:size=9"),  # the very same
        ({"dataset": "small-alone", "defense": "small-lends"}, "small", "small"),
    ],
)
def test_the_public_corpus(names: dict[str, str], named: str, public: str | None) -> None:
    cell = small_cell({"public": named}, **names)
    assert (cell.public and cell.public.label) == public
    if "attack" not in names:
        trial = small_trial(public=named, **names)
        assert (trial.public and trial.public.label) == public


@pytest.mark.parametrize("names", [{"attack": "small-reads"}, {"defense": "small-lends"}])
def test_a_data_set_without_a_public_corpus_needs_one_named(names: dict[str, str]) -> None:
    ((kind, wanting),) = names.items()
    with pytest.raises(UsageError, match=f"{kind} '{wanting}' needs a public corpus, and data set 'small-alone'"):
        small_cell(dataset="small-alone", **names)


def test_the_trial_of_a_cell_has_no_public_corpus_that_only_the_attack_wants() -> None:
    cell = small_cell(attack="small-reads")
    assert cell.public is not None
    assert cell.trial == small_trial()
    mixed = small_cell(defense="small-lends", attack="small-reads")
    assert mixed.trial == small_trial(defense="small-lends")
    assert mixed.trial.public == mixed.public
    assert type(cell.trial) is cells.Trial


def test_a_label_names_the_options_that_differ_from_their_defaults() -> None:
    cell = small_cell(dataset="small:size=30,dev=9,word=other", defense="small-plain:noise=0")
    assert cell.dataset.label == "small:dev=9,word=other"
    assert cell.defense.label == "small-plain"
    assert cell.defense.options == {"noise": 0.0, "fails": ""}
    assert cell.title == "small:dev=9,word=other toy:dim=8 small-plain × small-names seed 0"
    assert cell.trial.title == "small:dev=9,word=other toy:dim=8 small-plain seed 0"
    reference = small_cell(attack="small-names:top=2").attack.reference()
    module = str(PLUGINS / "small.py")
    told = {"kind": "attack", "name": "small-names", "module": module, "cls": "Names", "options": {"top": 2}}
    assert reference == told


def test_an_encoder_may_be_a_folder_or_a_name_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").mkdir()
    monkeypatch.chdir(tmp_path)
    specs: list[str] = []

    def choose(registry: Registry, kind: str, spec: str, untrusted: bool = False) -> Any:
        specs.append(spec)
        return honest(registry, kind, CHOICE[kind])

    honest = cells.choose
    monkeypatch.setattr(cells, "choose", choose)
    given = ["weights", "some/model", "hub:some/model", "toy"]
    cells.trials(SMALL, {"encoder": given, "dataset": ["small"], "defense": ["none"]})
    assert specs[1:5] == [f"hub:{tmp_path / 'weights'}", "hub:some/model", "hub:some/model", "toy"]
