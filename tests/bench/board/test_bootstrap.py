from __future__ import annotations

import numpy as np
import pytest

from bench.board.bootstrap import Bootstrap
from bench.board.pooling import cell
from bench.board.ranking import Experiment, Rivals, rank
from bench.board.staleness import StaleRecords
from bench.records.model import AttackRecord
from tests.helpers.records import attack_record

RNG = np.random.default_rng(0)
EASE = RNG.permutation(1000) / 1000


def entry(*records: AttackRecord) -> Experiment:
    return Experiment(records, cell(records, StaleRecords([])))


def tiers(*entries: Experiment) -> dict[str, tuple[int | None, str | None]]:
    bootstrap = Bootstrap([r for e in entries for r in e.records])
    return {row.defense: (row.tier, row.basis) for row in rank("main", bootstrap, entries)}


def test_pairing_tells_apart_what_intervals_cannot() -> None:
    # The same sentences are easy for both; a few more fall in one. Apart, 0.50 and 0.52 of 1,000 do not differ.
    one, other = attack_record("a", leak=EASE < 0.50), attack_record("b", leak=EASE < 0.52)
    assert tiers(entry(one), entry(other)) == {"a": (1, None), "b": (2, "paired")}
    assert tiers(entry(one), entry(other.replace(seed=7))) == {"a": (1, None), "b": (1, "unpaired")}
    assert tiers(entry(one), entry(other.replace(salt="drawn afresh")))["b"] == (1, "unpaired")


def test_the_bootstrap_agrees_with_the_error_of_a_mean() -> None:
    values = RNG.random(400)
    record = attack_record(leak=values)
    means = Bootstrap([record]).means(record)
    assert means.std() == pytest.approx(values.std() / 20, rel=0.1)
    assert means.mean() == pytest.approx(values.mean(), abs=0.002)


def test_values_that_are_not_known_do_not_count() -> None:
    values = np.where(EASE < 0.5, np.nan, 1.0)
    record = attack_record(leak=values)
    assert Bootstrap([record]).means(record) == pytest.approx(1.0)
    assert not Bootstrap([attack_record(leak=[np.nan, np.nan])]).known([attack_record(leak=[np.nan, np.nan])])


def test_equal_runs_never_differ_and_more_seeds_tell_more_apart() -> None:
    some = [attack_record(d, leak=EASE < 0.3, seed=s) for d in "ab" for s in range(3)]
    assert {tier for tier, _ in tiers(entry(*some[:3]), entry(*some[3:])).values()} == {1}
    noisy = {
        d: [attack_record(d, leak=RNG.random(1000) < p, seed=s) for s in range(9)] for d, p in (("a", 0.5), ("b", 0.55))
    }
    assert tiers(entry(*noisy["a"]), entry(*noisy["b"]))["b"][0] == 2


def test_a_tier_is_held_against_its_first_member() -> None:
    levels = {"a": 200, "b": 203, "c": 300}
    rows = tiers(*(entry(attack_record(name, leak=np.arange(1000) < level)) for name, level in levels.items()))
    assert [tier for tier, _ in rows.values()] == [1, 1, 2]


def test_different_protocols_are_paired_through_an_attack_that_is_strong_on_both() -> None:
    blind = attack_record("a", "xie-hong", leak=np.arange(100) < 70, epochs=50, metric="success")
    both = [attack_record("a", "unmix", leak=EASE < 0.69), attack_record("b", "unmix", leak=EASE < 0.72)]
    assert tiers(entry(blind), *map(entry, both))["b"] == (2, "through unmix")
    # Weak on one of them, it says nothing on the worst case.
    weak = attack_record("a", "unmix", leak=EASE < 0.1)
    assert tiers(entry(blind), entry(weak), entry(both[1]))["b"] == (1, "unpaired")


def test_equals_stand_in_one_tier_however_they_are_compared() -> None:
    # All of b and c is found by one attack, on 1,000 examples. Another, on 100, cannot tell b from a. That must not put
    # b beside a, and c, to which the other is blind, below them.
    few = np.arange(100)
    found = [
        entry(attack_record("a", "xie-hong", leak=few < 90, epochs=50, metric="success")),
        entry(attack_record("b", "unmix", leak=EASE < 1)),
        entry(attack_record("b", "xie-hong", leak=few < 92, epochs=50, metric="success")),
        entry(attack_record("c", "unmix", leak=EASE < 1)),
        entry(attack_record("c", "xie-hong", leak=few < 80, epochs=50, metric="success")),
    ]
    assert tiers(*found) == {"a": (1, None), "b": (2, "unpaired"), "c": (2, "paired")}


def test_stronger_means_another_attack_and_significantly() -> None:
    weak, same, strong = (
        attack_record(leak=EASE < 0.3),
        attack_record(attack="like", leak=EASE < 0.301),
        attack_record(attack="x", leak=EASE < 0.9),
    )
    apart = attack_record(attack="y", leak=EASE < 0.95, protocol={"coverage": 0.5})
    entries = [entry(r) for r in (weak, same, strong, apart)]
    arena = Rivals(Bootstrap([weak, same, strong, apart]), entries)
    assert [arena.stronger(e.cell) for e in entries] == ["x", "x", None, None]
    alone = Rivals(Bootstrap([weak, same]), entries[:2])
    assert alone.stronger(entries[0].cell) is None


@pytest.mark.parametrize(("leak", "few", "many"), [(0.005, 50, 1000), (0.1, 16, 50), (0.9, 16, 50), (0.3, 100, 100)])
def test_equal_leaks_seldom_differ_however_few_the_examples(leak: float, few: int, many: int) -> None:
    rng = np.random.default_rng(1)
    sizes = {"a": many, "b": few}
    pairs = [tuple(attack_record(d, leak=rng.random(n) < leak, seed=i) for d, n in sizes.items()) for i in range(200)]
    bootstrap = Bootstrap([r for pair in pairs for r in pair])
    said = sum(any(bootstrap.better([a], [b])[0] for a, b in (pair, pair[::-1])) for pair in pairs)
    assert said / 200 <= 0.08  # both ways: twice the level, and what 200 rounds may add


def test_a_few_pairs_that_point_one_way_are_not_enough() -> None:
    none = attack_record("a", leak=np.zeros(1000))
    found = {n: attack_record("b", leak=np.arange(1000) < n) for n in (4, 10)}
    assert not Bootstrap([none, found[4]]).better([found[4]], [none])[0]
    assert Bootstrap([none, found[10]]).better([found[10]], [none])[0]


def test_a_rival_that_guesses_is_not_stronger() -> None:
    chance = {"random": 0.3, "random_low": 0.2, "random_high": 0.4}
    weak, rival = attack_record(leak=EASE < 0), attack_record(attack="x", leak=EASE < 0.3, random=chance)
    entries = [entry(weak), entry(rival)]
    assert Rivals(Bootstrap([weak, rival]), entries).stronger(entries[0].cell) is None
