"""Training runs behind attacked cells, as far as they are on record."""

from __future__ import annotations

from pathlib import Path

from bench.board.learnt import trainings_of
from bench.records import store
from tests.bench.api.test_tables import attack_record, utility_record


def test_trainings_are_found_by_the_ids_that_attacks_name(tmp_path: Path) -> None:
    trained, other = utility_record("none", 0.5), utility_record("mix", 0.5, seed=7)
    for record in (trained, other):
        store.save(tmp_path, record)
    attacked = attack_record().replace(utility={"metrics": {"accuracy": 0.5}, "id": trained.id})
    gone = attack_record().replace(utility={"metrics": {"accuracy": 0.5}, "id": "0" * 15 + "9"})
    assert trainings_of([attacked, attacked, gone, attack_record()], tmp_path) == [trained]
