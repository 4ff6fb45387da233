"""What an audit comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.auditing.mechanism import claim


@dataclass(frozen=True)
class Outcome:
    audited: float
    """ε is at least this, with 95 % confidence"""
    ceiling: float
    """what a perfect distinguisher would have shown"""
    notes: dict[str, Any]
    """of the defense's release"""
    details: dict[str, Any]


def largest(notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The notes of the release with the largest accounted ε: which weights are drawn decides how much is released."""
    return max(notes, key=lambda each: claim(each)[1] or 0.0)
