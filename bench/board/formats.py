"""How an ε is written."""

from __future__ import annotations

from typing import Any


def budget(notes: dict[str, Any]) -> str:
    """`1 → 27.1`: the ε that is claimed and the one that holds."""
    if "accounted" not in notes:
        return ""
    return claim(notes["nominal"]["epsilon"], notes["accounted"]["epsilon"])


def claim(nominal: float, accounted: float) -> str:
    return f"{nominal:g} → {held(accounted)}"


def held(accounted: float) -> str:
    return f"{accounted:,.0f}" if accounted >= 1000 else f"{accounted:.4g}"
