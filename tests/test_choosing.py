"""The tables of docs/choosing.md: a row for each defense, audits beside it, and nothing too long to read."""

from __future__ import annotations

from typing import Any

from benchmarks.choosing import LONGEST, asked, tables

WORDS = "great+excellent+wonderful+best/bad+worst+awful+terrible"


def trained(defense: str, mean: float, epsilon: float | None, **changes: Any) -> dict[str, Any]:
    budget = epsilon and {"nominal": epsilon, "accounted": epsilon}
    about = {"suites": ["what-holds-utility"], "dataset": "sst2", "encoder": "minilm", "seeds": [0, 1]}
    metrics = {"accuracy": (mean, 0.01, 0.8, 0.5)}
    return {**about, "defense": defense, "epsilon": budget, "metrics": metrics, **changes}


def audited(defense: str, protocol: str, bound: float, claimed: float | None) -> dict[str, Any]:
    about = {"suites": ["audit"], "dataset": "sst2", "encoder": "minilm", "seeds": [0], "defense": defense}
    verdicts = {"vacuous" if claimed is None else "consistent": 1}
    return {
        **about, "protocol": protocol, "audited": bound, "claimed": claimed, "actual": claimed, "verdicts": verdicts
    }  # fmt: skip


def board() -> dict[str, Any]:
    long = {"suites": ["updates-utility"], "encoder": "minilm finetuned:epochs=4,examples=10000,layers=2,batch=512"}
    worst = {"attack": "unmix", "value": 1.0, "low": 0.9, "high": 1.0, "at_random": False}
    return {
        "utility": [
            trained(f"release-once:words={WORDS}", 0.75, 4.0),
            trained("release-once:labels=joint,crowd=100", 0.77, 1.0),
            trained("dp-sgd:noise=4.5", 0.78, 3.8, **long),
            trained("none", 0.8, None, **long),
            trained("prune", 0.8, None, **long),
            trained("elsewhere", 0.1, None, suites=["main-utility"]),
        ],
        "defenses": [
            {"suite": "what-holds", "dataset": "sst2", "encoder": "minilm", "defense": "texthide", "worst": worst,
             "attacks": 5, "epsilon": None}
        ],
        "audits": [
            audited("dp-sgd:noise=4.5", "updates, 1 × 4, 20,000 runs", 1.9, 3.8),
            audited("texthide", "canaries, 1000 × 10", 5.0, None),
            audited("texthide", "pair, 4 × 10, 2,000 runs", 6.3, None),
            audited("texthide", "updates, 4 × 1, 300 runs", 4.4, None),
        ],
    }  # fmt: skip


def test_what_is_too_long_stands_below_the_table() -> None:
    made = tables(board())
    rows = {line.split(" | ")[0].lstrip("| "): line for line in made.splitlines() if line.startswith("| ")}
    assert "release-once:words=(b)" in rows
    assert f"(b) `{WORDS}`" in made
    assert "| minilm (a) |" in rows["dp-sgd:noise=4.5"]
    assert all(len(cell) <= 60 + LONGEST for row in rows.values() for cell in row.split(" | "))
    assert {"elsewhere", "prune"} & rows.keys() == set()


def test_whom_to_trust_and_what_an_audit_shows_of_each_surface() -> None:
    rows = {line.split(" | ")[0].lstrip("| "): line for line in tables(board()).splitlines()}
    assert "≥ 1.90, consistent 1/1 of updates | the sum of a batch" in rows["dp-sgd:noise=4.5"]
    assert "each example" in rows["release-once:words=(b)"]
    assert "the sum of a crowd" in rows["release-once:labels=joint,crowd=100"]
    # The strongest game of each surface.
    assert "≥ 6.30, vacuous 1/1 of encodings; ≥ 4.40, vacuous 1/1 of updates" in rows["texthide"]
    assert "unmix: 1.000 [0.900, 1.000], of 5" in rows["texthide"]


def test_what_was_asked_stands_beside_what_is_reached() -> None:
    (row,) = (line for line in asked(board()).splitlines() if "release-once" in line)
    assert row == "| release-once:words=(a) | 4 | 0.750 ± 0.010 | 0.800 | 5.00 | 6 |"
