"""Which records are run again, and what becomes of those that do not come out."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError, UsageError
from bench.experiment import reproduction
from bench.experiment.replay import compare
from bench.records import store
from bench.records.model import AttackRecord, Record
from bench.records.origin import KEPT, Origin
from bench.system import processor
from tests.helpers.records import attack_record, failed_record, metric_of, utility_record

RANKED = {"identity": metric_of(0.5), "recall": metric_of(0.5)}


def here(record: AttackRecord, **changes: Any) -> AttackRecord:
    """Made on this processor."""
    return record.replace(versions={**record.versions, "processor": processor.name()}, **changes)


def test_a_sample_is_drawn_from_every_stratum_and_follows_from_its_seed() -> None:
    records: list[Record] = [attack_record(defense, seed=s) for defense in "abcd" for s in range(9)]
    records += [failed_record("e", status="timeout", error="too long")]
    drawn = reproduction.sample(records, 6, 1)
    assert len(drawn) == 6
    assert Counter(r.defense.name for r in drawn).keys() == set("abcd")
    assert drawn == reproduction.sample(records[::-1], 6, 1)
    assert drawn != reproduction.sample(records, 6, 2)
    assert len(reproduction.sample(records, 1000, 0)) == 36  # all but the one that ran out of time
    assert reproduction.sample([], 5, 0) == []


def test_what_a_record_claims_to_cost_has_no_say() -> None:
    dear = attack_record("a", cost={"attack_s": 1e6})
    assert reproduction.sample([dear, attack_record("b")], 2, 0)[0:2].count(dear) == 1


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"outcomes": {"metric": "recall", "values": "AAAAAAAAAAA="}}, "outcomes.values[0]"),
        ({"attack": {"name": "rss", "label": "rss", "sees": ["encodings"]}}, "attack.sees"),
        ({"protocol": {"examples": 4, "epochs": 2, "candidates": None, "coverage": 1.0, "split": "train"}}, "protocol"),
        ({"samples": [{"example": "a", "answer": "b", "right": False}]}, "samples"),
        ({"notes": {"clip": 2.0}}, "notes.clip"),
        ({"seed": 5}, "seed"),
        ({"sealed": True}, "sealed"),
    ],
)
def test_everything_that_a_board_shows_is_compared(changes: dict[str, Any], where: str) -> None:
    one = here(attack_record())
    assert any(difference.where.startswith(where) for difference in compare(one, one.replace(**changes)))
    verdict = reproduction.judge(one, one.replace(**changes))
    assert verdict.outcome == "not reproduced"
    assert any(text.startswith(where) for text in verdict.differences)


def test_on_another_processor_metrics_must_lie_within_the_intervals_of_each_other() -> None:
    old = attack_record(metrics=RANKED)
    for value, outcome in {0.5: "reproduced", 0.505: "reproduced", 0.52: "not reproduced"}.items():
        new = old.replace(metrics={**RANKED, "recall": metric_of(value)})
        assert reproduction.judge(old, new).outcome == outcome
        assert reproduction.judge(here(old), here(new)).outcome == ("reproduced" if value == 0.5 else "not reproduced")
    small = old.replace(metrics={**RANKED, "recall": metric_of(0.5 + 1e-8)})
    assert reproduction.judge(old, small).said == "to 1e-08, on another processor"
    asked = old.replace(attack={"name": "rss", "label": "rss", "sees": ["encodings"]})
    assert reproduction.judge(old, asked).outcome == "not reproduced"


def test_training_may_differ_a_little_on_another_processor() -> None:
    old = utility_record("none", 0.9)
    for value, outcome in {0.88: "reproduced", 0.7: "not reproduced"}.items():
        assert reproduction.judge(old, old.replace(metrics={"accuracy": value})).outcome == outcome


def test_what_cannot_be_run_here_is_said_and_not_held_against_the_record() -> None:
    def again(record: Record) -> Record:
        if record.defense.name == "a":
            raise DataError("no such data here")
        return record.replace(status="failed", error="it broke")

    first, second = reproduction.verdicts([attack_record("a"), attack_record("b")], again)
    assert (first.outcome, first.origin) == ("not run", None)
    assert (second.outcome, second.differences) == ("not reproduced", ["status: ok on record, failed now (it broke)"])


def test_a_mark_says_what_differs_and_a_record_of_ci_stays_one() -> None:
    record = here(attack_record())
    many = [f"metrics.recall.value: {i}" for i in range(20)]
    wrong = reproduction.Verdict(record, "not reproduced", "other numbers", many).origin
    assert wrong is not None
    assert (wrong.kind, wrong.differences) == ("not reproduced", many[:KEPT])
    right = reproduction.judge(record, record).origin
    assert right is not None
    assert (right.kind, "bit for bit" in right.reference) == ("replayed", True)
    ci = record.replace(origin=Origin(kind="ci", reference="https://example.org/run/1"))
    assert reproduction.judge(ci, record).origin == ci.origin


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


def test_changed_since_sees_new_changed_and_renamed_files_and_odd_names(tmp_path: Path) -> None:
    folder = tmp_path / "some records"
    kept, changed, renamed = (store.save(folder, attack_record(name)) for name in "abc")
    git(tmp_path, "init")
    git(tmp_path, "add", "."), git(tmp_path, "commit", "-m", "one")
    store.save(folder, changed.replace(notes={"x": 1}))
    path = store.path_of(folder, renamed)
    git(tmp_path, "mv", str(path), str(folder / "renamed file.json"))
    fresh = store.save(folder, utility_record("none", 0.5))
    found = reproduction.changed_since("HEAD", folder, store.read_files(folder))
    assert {record.id for record in found.values()} == {changed.id, renamed.id, fresh.id}
    assert kept.id not in {record.id for record in found.values()}
    for wrong in ("nothing", "--output=x"):
        with pytest.raises(UsageError, match="--changed-since"):
            reproduction.changed_since(wrong, folder, {})
    assert not (folder / "x").exists()


def test_a_pull_request_may_claim_no_origin_and_a_workflow_stamps_what_it_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from bench.cli.main import main

    store.save(tmp_path, attack_record("a", dataset="demo"))
    git(tmp_path, "init")
    git(tmp_path, "add", "."), git(tmp_path, "commit", "-m", "one")
    store.save(tmp_path, attack_record("none", dataset="demo"))
    where = ["--results", str(tmp_path)]
    assert main(["records", "verify", "--changed-since", "HEAD", *where]) == 0
    assert main(["records", "stamp", "--reference", "javascript:alert(1)", *where]) == 2
    assert main(["records", "stamp", "--reference", "https://example.org/runs/1", *where]) == 0
    assert "1 record stamped" in capsys.readouterr().out
    assert main(["records", "stamp", "--reference", "https://example.org/2", "--made-since", "2999", *where]) == 0
    assert "0 records stamped" in capsys.readouterr().out
    kinds = {r.defense.name: r.origin and r.origin.kind for r in store.read_all(tmp_path)}
    assert kinds == {"a": None, "none": "ci"}
    assert main(["records", "verify", "--changed-since", "HEAD", *where]) == 1
    assert "origin ci: for whoever merges it to say" in capsys.readouterr().out
