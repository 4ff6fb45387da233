"""The table of metrics: what tables, validation, tiers and docs read from it."""

from __future__ import annotations

import re

import pytest

from bench.records.model import AttackRecord
from bench.scoring import kinds
from bench.scoring.metrics import METRICS
from bench.scoring.table import MetricInfo, MetricTable
from tests.helpers.cli import ROOT

# Intervals draw their random numbers in this order: a metric that moves, or comes in between, changes numbers.
DRAWN = {
    "ranking": ["jaccard", "tfidf", "sbert", "label", "identity", "hit", "recall", "success"],
    "texts": ["jaccard", "tfidf", "sbert", "label", "identity", "hit", "recall", "success"],
    "vectors": ["cosine", "jaccard", "tfidf", "sbert", "label", "identity", "success", "error"],
    "images": ["recall", "success", "mse", "psnr"],
    "readings": [
        *("exact", "token_f1", "rouge1", "rouge2", "rougeL", "tokens", "precision", "false", "certified"),
    ],
    "written": ["rouge1", "rouge2", "rougeL", "exact", "exact_short", "token_f1", "bleu", "sbert", "named"],
}


@pytest.mark.parametrize("kind", DRAWN)
def test_metrics_draw_in_the_order_in_which_published_numbers_were_made(kind: str) -> None:
    names = [row.name for row in METRICS.of(*kinds.get(kind).bases)]
    assert names[: len(DRAWN[kind])] == DRAWN[kind], "a new metric goes last in bench/scoring/metrics/free_text.py"


@pytest.mark.parametrize(
    ("kind", "metric"),
    [("ranking", "recall"), ("vectors", "success"), ("images", "success"), ("readings", "exact"), ("written", "exact")],
)
def test_every_kind_has_one_metric_that_is_its_leak(kind: str, metric: str) -> None:
    bases = kinds.get(kind).bases
    assert [row.name for row in METRICS.of(*bases) if row.leak] == [metric]
    assert METRICS.leak_of(*bases) == metric


def test_tables_show_metrics_in_their_own_order() -> None:
    shown = ["identity", "jaccard", "tfidf", "label", "sbert", "hit", "recall", "success", "mse", "psnr", "ssim"]
    assert list(METRICS)[: len(shown)] == shown
    assert METRICS.ordered({"later": 1, "success": 1, "identity": 1}) == ["identity", "success", "later"]


def test_every_metric_is_explained_to_readers() -> None:
    for name, about in METRICS.items():
        assert about.title, name
        assert about.explanation.endswith("."), name
        assert "\n" not in about.explanation


def test_docs_have_a_line_for_every_metric_in_its_own_words() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    lines = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", text, re.MULTILINE))
    assert lines == {name: about.explanation for name, about in METRICS.items()}


def test_a_share_beyond_one_is_refused_in_a_record() -> None:
    about = {
        "id": "0" * 16,
        "dataset": {"name": "d", "label": "d", "fingerprint": "f"},
        **{kind: {"name": kind, "label": kind} for kind in ("encoder", "defense")},
        "attack": {"name": "a", "label": "a", "sees": []},
        "protocol": {"examples": 1, "epochs": 1, "candidates": None, "coverage": 1.0, "split": "train"},
        "seed": 0,
    }
    shares = [name for name, metric in METRICS.items() if metric.share]
    named = {"identity", "jaccard", "label", "hit", "recall", "success", *DRAWN["readings"], *DRAWN["written"]}
    assert set(shares) == named - {"sbert"}
    for name in shares:
        with pytest.raises(ValueError, match=f"metrics.{name}: a share"):
            AttackRecord.model_validate({**about, "metrics": {name: {"value": 1.5}}})
    AttackRecord.model_validate({**about, "metrics": {"psnr": {"value": 80.0}, "later": {"value": 7.0}}})


def test_two_metrics_of_one_name_and_basis_are_a_mistake() -> None:
    table = MetricTable()
    row = MetricInfo("recall", "ranking", "t", "e", 1, True, True, "item", 0.0, lambda answers: answers)
    table.add(row)
    with pytest.raises(ValueError, match="two metrics 'recall' of ranking"):
        table.add(row)
    with pytest.raises(KeyError):
        table["precision"]
