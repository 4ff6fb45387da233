"""A board for programs: one line for each record, named by its id."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from bench.records.model import Record
from bench.scoring.metrics import METRICS

PARTS = ("value", "low", "high", "random", "random_low", "random_high")


def attacks(records: Sequence[Record]) -> str:
    names = [m for m in METRICS if any(m in r["metrics"] for r in records)]
    return _written(
        [
            {
                **_about(r),
                "attack": r["attack"]["label"],
                "sees": " ".join(r["attack"]["sees"]),
                **r["protocol"],
                "corpus": r["dataset"].get("candidates"),
                "public": (r["public"] or {}).get("name"),
                "sealed": "yes" if r.get("sealed") else "",
                **_budget(r),
                **{f"{m}_{part}": (r["metrics"].get(m) or {}).get(part) for m in names for part in PARTS},
                **{part: r["cost"].get(part) for part in ("attack_s", "peak_mib")},
                "error": r["error"],
            }
            for r in records
        ]
    )


def utility(records: Sequence[Record]) -> str:
    names = list(dict.fromkeys(m for r in records for m in r["metrics"]))
    return _written(
        [
            {
                **_about(r),
                "train_epochs": r["training"]["epochs"],
                **_budget(r),
                **{m: r["metrics"].get(m) for m in names},
                **{f"{m}_majority": r.get("majority", {}).get(m) for m in names},
                "train_s": r["cost"].get("train_s"),
            }
            for r in records
        ]
    )


def _about(record: Record) -> dict[str, Any]:
    labels = {kind: record[kind]["label"] for kind in ("dataset", "encoder", "defense")}
    return {"id": record["id"], "status": record["status"], **labels, "seed": record["seed"]}


def _budget(record: Record) -> dict[str, Any]:
    notes = record.get("notes") or {}
    return {
        "epsilon": notes.get("nominal", {}).get("epsilon"),
        "accounted_epsilon": notes.get("accounted", {}).get("epsilon"),
    }


def _written(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")  # what is None is left empty
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
