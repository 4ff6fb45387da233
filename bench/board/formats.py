"""How tables and figures write numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.board.model import Epsilon
    from bench.records.model import Record


def format_epsilon(value: float) -> str:
    """Four digits, whole from a thousand on."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def format_budget(nominal: float, accounted: float) -> str:
    """`1 → 27.1`: the ε that is claimed and the one that holds."""
    return f"{nominal:g} → {format_epsilon(accounted)}"


def epsilon(budget: Epsilon | None) -> str:
    return format_budget(budget.nominal, budget.accounted) if budget else ""


def record_epsilon(record: Record) -> str:
    """The same of a single record."""
    claimed, accounted = record.claimed, record.accounted
    return format_budget(claimed.epsilon, accounted.epsilon) if claimed and accounted else ""


def bound(value: float | str) -> str:
    """A claimed, accounted or audited ε; two decimals, which is what an experiment gives."""
    return str(value) if isinstance(value, str) else format_epsilon(value) if value >= 100 else f"{value:.2f}"


def number(value: float | None) -> str:
    """Three decimals; three digits from a thousand on, since the error of a failed reconstruction may be any size."""
    return "–" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"


def interval(low: float | None, high: float | None) -> str:
    return f"[{number(low)}, {number(high)}]"


def spread(mean: float | None, deviation: float | None) -> str:
    """A mean without a deviation is of one seed."""
    return ("–" if mean is None else f"{mean:.3f}") + ("" if deviation is None else f" ± {deviation:.3f}")


def seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} s" if value >= 10 else f"{value:.2g} s"


def count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def short_id(identity: str) -> str:
    """Long enough to be the only one."""
    return identity[:10]


def percent(share: float) -> str:
    """Not rounded up to all, nor down to nothing."""
    plain = round(100 * share)
    return f"{plain} %" if share in (0, 1) or 0 < plain < 100 else f"{100 * share:.2g} %" if plain == 0 else "over 99 %"
