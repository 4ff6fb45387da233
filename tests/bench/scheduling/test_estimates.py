"""Time and memory, estimated from earlier records."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.records import store
from bench.records.model import Record
from bench.scheduling.estimates import RemainingTime, ResourceHistory, format_duration
from tests.helpers.records import attack_record, failed_record, utility_record


def took(record: Record, seconds: float) -> Record:
    part = "train_s" if record.cost.train_s is not None else "attack_s"
    return record.replace(cost=record.cost.replace(**{part: seconds}))


def test_time_is_judged_by_the_same_configuration_then_by_the_same_attack(tmp_path: Path) -> None:
    exact, near, far = attack_record("mix-only"), attack_record("texthide"), attack_record("mix-only", "unmix")
    assert ResourceHistory(tmp_path).estimate(exact) is None
    assert RemainingTime([exact], ResourceHistory(tmp_path)).seconds(1) is None
    for seed, seconds in enumerate((3.0, 5.0, 4.0)):
        store.save(tmp_path, took(attack_record("mix-only", seed=seed), seconds))
    history = ResourceHistory(tmp_path)
    estimates = [history.estimate(about) for about in (exact, near, far)]
    assert [estimate and estimate.seconds for estimate in estimates] == [4.0, 4.0, None]
    assert estimates[0] is not None
    assert estimates[0].mib == 100.0
    remaining = RemainingTime([exact, near, far], history)
    assert remaining.seconds(1) == pytest.approx(12)  # the unknown one is taken for average
    assert remaining.seconds(2) == pytest.approx(6)
    remaining.done(took(far, 10.0))
    assert remaining.seconds(1) == pytest.approx(8)


def test_training_is_judged_by_training(tmp_path: Path) -> None:
    store.save(tmp_path, took(attack_record("mix-only"), 100.0))
    about = utility_record("mix-only", 0.5)
    assert ResourceHistory(tmp_path).estimate(about) is None
    store.save(tmp_path, took(utility_record("mix-only", 0.5, seed=1), 7.0))
    history = ResourceHistory(tmp_path)
    estimates = [history.estimate(asked) for asked in (about, utility_record("texthide", 0.5))]
    assert [estimate and estimate.seconds for estimate in estimates] == [7.0, 7.0]


def test_failed_and_damaged_records_say_nothing(tmp_path: Path) -> None:
    about = attack_record("mix-only")
    store.save(tmp_path, failed_record("mix-only", seed=1))
    path = store.path_of(tmp_path, attack_record("mix-only", seed=2))
    path.write_text("{")
    assert ResourceHistory(tmp_path).estimate(about) is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "unknown"), (0.4, "0 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_durations_have_one_unit(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text
