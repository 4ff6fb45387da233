"""What is printed after a run."""

from __future__ import annotations

from bench.api import tables
from bench.records.model import AttackRecord, Record, UtilityRecord
from bench.scoring.metrics import METRICS


def attack_record(status: str = "ok", seed: int = 0) -> AttackRecord:
    return AttackRecord.model_validate(
        {
            "id": f"{seed:016x}",
            "status": status,
            "dataset": {"name": "demo", "label": "demo", "fingerprint": "f", "examples": 4, "candidates": 1009},
            "encoder": {"name": "toy", "label": "toy"},
            "defense": {"name": "none", "label": "none"},
            "attack": {"name": "rss", "label": "rss", "sees": ["encodings"]},
            "protocol": {"examples": 4, "epochs": 1, "candidates": 1009, "coverage": 1.0, "split": "train"},
            "seed": seed,
            "metrics": {"recall": {"value": 0.5, "random": 0.1}} if status == "ok" else {},
            "cost": {"attack_s": 1.0},
            "error": None if status == "ok" else "it broke",
        }
    )


def utility_record(defense: str, accuracy: float, seed: int = 0, status: str = "ok") -> UtilityRecord:
    about = attack_record(status, seed).to_dict()
    for name in UtilityRecord.model_fields.keys() ^ AttackRecord.model_fields.keys():
        about.pop(name, None)
    about |= {"training": {"epochs": 2}, "metrics": {}, "defense": {"name": defense, "label": defense}}
    if status == "ok":
        about |= {"metrics": {"accuracy": accuracy}, "majority": {"accuracy": 0.5}}
    return UtilityRecord.model_validate(about)


def text(*records: Record) -> str:
    return str(tables.of(records))


def test_records_are_rows_and_failures_are_said_below() -> None:
    said = text(attack_record(), attack_record("failed", seed=1))
    assert "demo · toy · 4 private examples among 1,009 candidates" in " ".join(said.split())
    assert "recall 0.500   0.100  encodings" in said
    assert said.rstrip().endswith("failed: none × rss seed 1: it broke")


def test_what_an_attack_needs_is_said_without_the_name_of_a_class() -> None:
    refused = attack_record("failed").replace(error="UsageError: it needs --update share=all")
    assert text(refused).rstrip().endswith("failed: none × rss seed 0: it needs --update share=all")


def test_sentences_that_were_cut_are_said_once() -> None:
    cut = {"cut": "2 sentences have the longest length, 128 tokens"}
    said = text(*(attack_record(seed=seed).replace(notes=cut) for seed in range(2)))
    assert said.count("2 sentences have the longest length, 128 tokens, and what is beyond is in no update: raise") == 1


def test_thousands_are_left_to_the_board() -> None:
    many = [attack_record(seed=seed) for seed in range(tables.MOST)]
    first, last = text(*many, attack_record("timeout", seed=1)).splitlines()
    assert first.startswith("301 records are too many for a table: bench leaderboard")
    assert last == "timeout: none × rss seed 1: it broke"


def test_utility_is_a_mean_over_seeds_beside_the_undefended_figure() -> None:
    records = [utility_record("none", 0.9), utility_record("mix", 0.6), utility_record("mix", 0.8, seed=1)]
    said = text(*records)
    (row,) = (line for line in said.splitlines() if "mix" in line)
    assert row.split() == ["demo", "toy", "mix", "accuracy", "0.700", "0.141", "2", "0.900", "0.500"]
    assert "undefended: what the same training reaches without a defense" in said


def test_metrics_are_explained_below_the_table() -> None:
    assert f"recall: {METRICS['recall'].title}" in text(attack_record())


def test_training_that_failed_is_said_and_counts_in_no_mean() -> None:
    said = text(utility_record("none", 0.9), utility_record("mix", 0.0, status="failed"))
    assert "failed: mix seed 0: it broke" in said
    assert "0.000" not in said


def test_a_notebook_shows_the_whole_table_however_wide() -> None:
    names = ["identity", "jaccard", "tfidf", "label", "sbert", "hit", "recall", "success", "mse", "psnr", "cosine"]
    metrics = {name: {"value": 0.5, "random": 0.125} for name in names}
    record = attack_record().replace(metrics=metrics, error="a < b", status="failed")
    wide = tables.of([attack_record(seed=1).replace(metrics=metrics), record], "all")._repr_html_()
    assert "…" not in wide
    assert wide.count("0.500 (0.125)") == len(names)
    assert "a &lt; b" in wide
    assert wide.startswith("<pre ")


def test_long_names_are_never_cut() -> None:
    metrics = {name: {"value": 0.5, "random": 0.125} for name in METRICS}
    defense = {"name": "texthide", "label": "texthide:m=16,k=2,batch=128"}
    about = attack_record().replace(metrics=metrics).to_dict() | {"defense": defense}
    said = str(tables.of([AttackRecord.model_validate(about)], "all"))
    assert "…" not in said


def test_accuracy_that_a_constant_answer_reaches_is_called_that() -> None:
    idle = [utility_record("none", 0.51), utility_record("mix", 0.51)]
    said = text(*idle)
    assert (
        "demo, toy: even without a defense the model learns nothing (accuracy 0.510, a constant answer 0.500): this "
        "shows no cost of any defense"
    ) in said
    assert "mix: the model" not in said
    assert "demo, toy, mix: the model has learnt nothing (accuracy 0.510" in text(
        utility_record("none", 0.9), utility_record("mix", 0.51)
    )
    assert "learn" not in text(utility_record("none", 0.9), utility_record("mix", 0.6))


def test_the_utility_beside_an_attack_is_read_with_its_training() -> None:
    idle = utility_record("none", 0.5)
    attacked = attack_record().replace(utility={"metrics": {"accuracy": 0.5}, "id": idle.id})
    assert "even without a defense the model learns nothing" in str(tables.of([attacked], "leak", [idle]))
