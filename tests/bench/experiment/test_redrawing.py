"""Data that are made are made anew for a sealed run, from its salt; others, and unsealed runs, stay as they are."""

from __future__ import annotations

from dataclasses import replace

from bench.datasets.demo import Demo
from bench.experiment import cells, execute, redrawing
from bench.experiment.cells import Cell
from tests.helpers.cells import SMALL, small_cell
from tests.helpers.records import bare_record


def demo_cell() -> Cell:
    axes = {"dataset": ["demo"], "encoder": ["toy:dim=8"], "defense": ["none"], "attack": ["rss"]}
    (cell,) = cells.cells(SMALL, axes, {"examples": 20, "candidates": 50})
    return cell


def scene(scenes: execute.Scenes, salt: str | None) -> execute.setup.CellSetup:
    about = bare_record(id=salt or "unsealed")
    return scenes.get(demo_cell(), about, "cpu", lambda text: None, salt)


def test_sentences_that_everybody_has_are_of_no_use_in_a_sealed_run() -> None:
    known = set(Demo().load("train").texts)
    scenes = execute.Scenes()
    open_one, sealed = scene(scenes, None), scene(scenes, redrawing.new_salt(scenes.common))
    assert set(open_one.truth.private.texts) <= known
    assert len(set(sealed.truth.private.texts) & known) <= 1
    assert set(sealed.truth.private.texts) <= set(sealed.truth.corpus.texts)


def test_cells_of_a_run_share_sentences_and_nothing_else_and_a_salt_draws_them_again() -> None:
    scenes, others = execute.Scenes(), execute.Scenes()
    one, two, other = (redrawing.new_salt(some.common) for some in (scenes, scenes, others))
    assert len({one, two, other}) == 3
    assert all(len(bytes.fromhex(salt)) == 32 for salt in (one, two, other))
    data = [redrawing.redrawn(demo_cell(), salt).dataset.plugin.load("train").texts for salt in (one, two, other)]
    assert data[0] == data[1] != data[2]
    first, second = scene(scenes, one).truth.private.texts, scene(scenes, two).truth.private.texts
    assert first != second
    assert scene(others, one).truth.private.texts == first
    before = scenes.common
    scenes.clear()  # before another run
    assert scenes.common != before


def test_the_public_corpus_is_redrawn_too_and_what_was_collected_is_not() -> None:
    cell = demo_cell()
    cell = redrawing.redrawn(replace(cell, public=cell.dataset), "ab" * 32)
    assert cell.public is not None
    public, private = cell.public.plugin.load("public").texts, cell.dataset.plugin.load("train").texts
    assert not set(public) & set(private)
    assert public != Demo().load("public").texts
    assert cell.dataset.name == "demo"
    assert redrawing.redrawn(small_cell(), "ab" * 32) == small_cell()
    assert redrawing.redrawn(demo_cell(), None) == demo_cell()
