"""What tables say of a defense's worst case: failures must not look like safety."""

from __future__ import annotations

from bench.board.marks import mark_text
from bench.board.model import DefenseRow


def worst_case(row: DefenseRow) -> str:
    """The strongest attack's value, and how many were tried: failures must not look like safety."""
    found = row.worst
    if found is None:
        return unmeasured(row)
    tried = "the only attack" if row.attacks == 1 else attacks_tried(row)
    return f"{worst_value(row)}\n{found.attack}, {found.protocol}, {tried}"


def worst_value(row: DefenseRow) -> str:
    """The value with its interval and marks: at random level, resting on the seeds that came through, or stale."""
    found = row.worst
    if found is None:
        return unmeasured(row)
    there = {"random": found.at_random, "failed": found.failed, "stale": found.stale}
    marks = [mark_text(mark, found.failed, found.runs, found.stale) for mark, so in there.items() if so]
    return " ".join([f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]", *marks])


def unmeasured(row: DefenseRow) -> str:
    if not row.attacks_failed:
        return "no attack that is ranked"
    return "✗ every attack failed" if row.attacks_failed == row.attacks else f"✗ {attacks_tried(row)}"


def attacks_tried(row: DefenseRow) -> str:
    lost = f", {row.attacks_failed} failed" if row.attacks_failed else ""
    return f"of {row.attacks} attacks{lost}"
