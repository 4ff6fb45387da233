"""What the records of a report say of each defense: leak by what the attacker knows, accuracy, ε, cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.board import formats, pooling
from bench.board.utility import UNDEFENDED
from bench.errors import plain
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
from bench.reporting.figures import Figure, figure

# What the attacker knows, or sees, besides the encodings; the columns of the report's table.
LIST, PART, NO_LIST, UPDATES = "list", "part", "none", "updates"
KNOWLEDGE = {
    LIST: "a list of candidates that holds every private text",
    PART: "a list that holds half of the private texts",
    NO_LIST: "no list: vectors are rebuilt, not their words",
    UPDATES: "gradients of the encoder, and a list that holds every private text",
}


@dataclass(frozen=True)
class Leak:
    """What one attack found behind one defense."""

    attack: str
    knowledge: str
    metric: str
    value: Figure
    random: Figure | None
    at_random: bool
    encodings: Figure
    """of each private example"""
    seconds: Figure | None

    @property
    def is_share(self) -> bool:
        """Whether the value is a share of the private texts; else it says how close rebuilt vectors come."""
        return self.metric in pooling.LEAKS


@dataclass(frozen=True)
class Utility:
    """The task's own metric on held-out rows."""

    metric: str
    value: Figure
    majority: Figure
    """what a constant answer reaches"""


@dataclass(frozen=True)
class Budget:
    """ε, claimed and as an accountant finds it after so many encodings of each example."""

    claimed: Figure
    actual: Figure
    encodings: Figure

    @property
    def holds(self) -> bool:
        return self.actual.value <= 1.001 * self.claimed.value


@dataclass(frozen=True)
class Audit:
    """ε is at least this, with 95 % confidence."""

    audited: Figure
    verdict: str
    encodings: Figure


@dataclass
class Finding:
    """All that is known of one defense in one setting."""

    defense: str
    training: str | None
    """how the encoder was fine-tuned through the defense; None: it is frozen"""
    leaks: list[Leak] = field(default_factory=list)
    utility: Utility | None = None
    budgets: list[Budget] = field(default_factory=list)
    audits: list[Audit] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def undefended(self) -> bool:
        return self.defense == UNDEFENDED

    def worst(self, knowledge: str) -> Leak | None:
        """The strongest attack with such knowledge, one that beats guessing before one that does not."""
        some = [leak for leak in self.leaks if leak.knowledge == knowledge]
        return max(some, key=lambda leak: (not leak.at_random, leak.value.value), default=None)

    @property
    def on_encodings(self) -> list[Leak]:
        return [leak for leak in self.leaks if leak.knowledge != UPDATES]

    @property
    def holds(self) -> bool:
        """Attacks on encodings were run, and none beats guessing."""
        return bool(self.on_encodings) and not self.failures and all(leak.at_random for leak in self.on_encodings)

    @property
    def sound(self) -> bool:
        """It claims an ε, which neither an accountant nor an experiment contradicts."""
        return (
            bool(self.budgets)
            and all(budget.holds for budget in self.budgets)
            and all(audit.verdict != "refuted" for audit in self.audits)
        )


def findings(records: Sequence[Record]) -> list[Finding]:
    """By setting and defense, in the order of the records."""
    found: dict[tuple[str | None, str], Finding] = {}
    several = {record.defense.name for record in records if "epsilon=" in record.defense.label}
    for record in records:
        training = record.finetuned.label if record.finetuned else None
        defense = _with_epsilon(record) if record.defense.name in several else record.defense.label
        _add(found.setdefault((training, defense), Finding(defense, training)), record)
    return sorted(found.values(), key=lambda one: one.training is not None)


def _with_epsilon(record: Record) -> str:
    """Labels leave defaults out; beside others of its kind, a defense with its default ε names it all the same."""
    label, epsilon = record.defense.label, record.defense.options.get("epsilon")
    if epsilon is None or "epsilon=" in label:
        return label
    return f"{label}{',' if ':' in label else ':'}epsilon={epsilon}"


def _add(one: Finding, record: Record) -> None:
    if record.status != "ok":
        one.failures.append(f"{_what(record)}: {plain(record.error)}")
    elif isinstance(record, AttackRecord):
        if leak := _leak(record):
            one.leaks.append(leak)
        # An ε of encodings says nothing of gradients of the encoder.
        if "updates" not in record.attack.sees and (budget := _budget(record)):
            one.budgets = _largest([*one.budgets, budget])
    elif isinstance(record, UtilityRecord):
        one.utility = one.utility or _utility(record)
    elif isinstance(record, AuditRecord):
        audited = figure(record, "audited", formats.bound)
        encodings = figure(record, "protocol.epochs", formats.count)
        if audited and encodings and record.verdict:
            one.audits.append(Audit(audited, record.verdict, encodings))


def _leak(record: AttackRecord) -> Leak | None:
    metric = pooling.headline([record])
    pooled = pooling.pooled([record.metrics.get(metric)]) if metric else None
    show = formats.percent if metric in pooling.LEAKS else formats.number
    value = figure(record, f"metrics.{metric}.value", show)
    encodings = figure(record, "protocol.epochs", formats.count)
    if metric is None or pooled is None or value is None or encodings is None:
        return None
    return Leak(
        attack=record.attack.label,
        knowledge=_knowledge(record),
        metric=metric,
        value=value,
        random=figure(record, f"metrics.{metric}.random", show),
        at_random=pooling.at_random(pooled),
        encodings=encodings,
        seconds=figure(record, "cost.attack_s", formats.seconds),
    )


def _knowledge(record: AttackRecord) -> str:
    if "updates" in record.attack.sees:
        return UPDATES
    if "corpus" not in record.attack.sees:
        return NO_LIST
    return LIST if record.protocol.coverage == 1 else PART


def _budget(record: AttackRecord) -> Budget | None:
    claimed = figure(record, "notes.nominal.epsilon", formats.format_epsilon)
    actual = figure(record, "notes.accounted.epsilon", formats.format_epsilon)
    encodings = figure(record, "protocol.epochs", formats.count)
    return Budget(claimed, actual, encodings) if claimed and actual and encodings else None


def _largest(budgets: Sequence[Budget]) -> list[Budget]:
    """For each number of encodings the largest actual ε: that of the most exposed example."""
    found: dict[float, Budget] = {}
    for budget in sorted(budgets, key=lambda b: (b.encodings.value, b.actual.value)):
        found[budget.encodings.value] = budget
    return list(found.values())


def _utility(record: UtilityRecord) -> Utility | None:
    metric = next(iter(record.metrics), None)
    value = figure(record, f"metrics.{metric}", formats.number)
    majority = figure(record, f"majority.{metric}", formats.number)
    return Utility(metric, value, majority) if metric and value and majority else None


def _what(record: Record) -> str:
    return record.attack.label if isinstance(record, AttackRecord) else record.__class__.__name__.removesuffix("Record")
