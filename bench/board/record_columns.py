"""The columns of tables with a row for each record: CSV files, and what is printed after a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench.board import formats, pooling
from bench.board.columns import ORIGIN, VERDICTS, Column, metric_explanation, shown
from bench.board.select import audit_protocol
from bench.board.utility import SeedSummary
from bench.records.model import AttackRecord, AuditRecord, Metric, Record, UtilityRecord
from bench.records.origin import kind_of
from bench.scoring.metrics import METRICS


class RecordLine(NamedTuple):
    """A record, and the components whose code has changed since it was made."""

    record: Record
    stale: Sequence[str] = ()


def _attack(line: RecordLine) -> AttackRecord | None:
    return line.record if isinstance(line.record, AttackRecord) else None


def _of_attack(part: Callable[[AttackRecord], Any]) -> Callable[[RecordLine], Any]:
    return lambda line: part(record) if (record := _attack(line)) else None


# `attack`, `utility`: CSV files. `leak`: what is printed after a run of attacks; `metrics`: the same with every metric.
_CSV, _ATTACK, _UTILITY = frozenset({"attack", "utility"}), frozenset({"attack"}), frozenset({"utility"})
_SHOWN, _TERMINAL = frozenset({"attack", "utility", "leak", "metrics"}), frozenset({"leak", "metrics"})
RECORDS: tuple[Column[RecordLine], ...] = (
    Column("id", "id", "of the record, for bench show", lambda r: r.record.id, tables=_CSV),
    Column("status", "status", "ok, failed or timeout", lambda r: r.record.status, tables=_CSV),
    Column("dataset", "data set", "whose sentences or images are private", lambda r: r.record.dataset.label,
           tables=_CSV),
    Column("encoder", "encoder", "what makes a vector of each example", lambda r: r.record.encoder.label, tables=_CSV),
    Column("training", "training", "frozen: the encoder as downloaded; finetuned: trained through the defense",
           lambda r: r.record.finetuned.label if r.record.finetuned else "frozen", tables=_CSV),
    Column("attacker", "attacker", "which weights of a trained encoder the attacker held",
           lambda r: getattr(r.record, "attacker", None), tables=_CSV),
    Column("defense", "defense", "the defense, with the options that differ from its defaults",
           lambda r: r.record.defense.label, tables=_SHOWN),
    Column("budget", "ε", "the privacy budget that the defense claims → the one that an accountant finds",
           lambda r: formats.record_epsilon(r.record) or None, numeric=True, optional=True, tables=_TERMINAL),
    Column("attack", "attack", "the attack, with the options that differ from its defaults",
           _of_attack(lambda r: r.attack.label), tables=_TERMINAL),
    Column("seed", "seed", "of the draw of private examples and of all randomness", lambda r: r.record.seed,
           numeric=True, tables=_SHOWN),
    Column("attack", "attack", "the attack, with the options that differ from its defaults",
           _of_attack(lambda r: r.attack.label), tables=_ATTACK),
    Column("sees", "attacker sees", "what the attack is given besides its options",
           _of_attack(lambda r: " ".join(r.attack.sees)), tables=_ATTACK),
    Column("examples", "examples", "private examples", _of_attack(lambda r: r.protocol.examples), tables=_ATTACK),
    Column("epochs", "epochs", "encodings of each private example", _of_attack(lambda r: r.protocol.epochs),
           tables=_ATTACK),
    Column("candidates", "candidates", "sentences that the corpus was cut to; empty: not cut",
           _of_attack(lambda r: r.protocol.candidates), tables=_ATTACK),
    Column("coverage", "coverage", "share of the private examples that the attacker's corpus contains",
           _of_attack(lambda r: r.protocol.coverage), tables=_ATTACK),
    Column("split", "split", "the part of the data set that private examples are drawn from",
           _of_attack(lambda r: r.protocol.split), tables=_ATTACK),
    Column("corpus", "corpus", "sentences in the attacker's corpus", _of_attack(lambda r: r.dataset.candidates),
           tables=_ATTACK),
    Column("public", "public", "the public corpus", _of_attack(lambda r: r.public and r.public.name), tables=_ATTACK),
    Column("sealed", "sealed", "yes: the attack ran in a sandbox, on a key drawn with a salt that it could not know",
           _of_attack(lambda r: "yes" if r.sealed else ""), tables=_ATTACK),
    Column("train_epochs", "train epochs", "passes over the data in training",
           lambda r: r.record.training["epochs"] if isinstance(r.record, UtilityRecord) else None, tables=_UTILITY),
    Column("epsilon", "ε claimed", "the privacy budget that the defense claims",
           lambda r: r.record.claimed and r.record.claimed.epsilon, tables=_CSV),
    Column("accounted_epsilon", "ε actual", "the privacy budget that an accountant finds",
           lambda r: r.record.accounted and r.record.accounted.epsilon, tables=_CSV),
)  # fmt: skip
# Behind the metrics.
RECORD_ENDS: tuple[Column[RecordLine], ...] = (
    Column("attack_s", "seconds", "how long the attack took", _of_attack(lambda r: r.cost.attack_s), numeric=True,
           tables=frozenset({"attack", "metrics"})),
    Column("peak_mib", "MiB", "the most memory that the attack's process held", _of_attack(lambda r: r.cost.peak_mib),
           tables=_ATTACK),
    Column("error", "error", "why the run failed", lambda r: r.record.error, tables=_ATTACK),
    Column("train_s", "seconds", "how long training took", lambda r: r.record.cost.train_s, tables=_UTILITY),
    Column("stale", "stale", "components whose code has changed since the record was made",
           lambda r: " ".join(r.stale), tables=_CSV),
    Column("origin", "origin", ORIGIN, lambda r: kind_of(r.record.origin), tables=_CSV),
)  # fmt: skip


def _headline(record: AttackRecord) -> tuple[str, Metric] | None:
    name = pooling.headline([record]) if record.status == "ok" else None
    found = record.metrics.get(name) if name else None
    return (name, found) if name and found and found.value is not None else None


def _random(record: AttackRecord) -> float | None:
    found = _headline(record)
    return float(found[1].random) if found and found[1].random is not None else None


# Of the table that is printed after a run: the headline, and what it is to be read with.
LEAK: tuple[Column[RecordLine], ...] = (
    Column("leak", "leak", "the metric that says how much was found, and its value", _of_attack(_headline),
           lambda found: f"{found[0]} {formats.number(float(found[1].value))}", "–", numeric=True),
    Column("random", "random", "what random guessing reaches", _of_attack(_random), formats.number, "–", numeric=True),
    Column("sees", "attacker had", "what the attack was given", _of_attack(lambda r: ", ".join(r.attack.sees))),
    Column("utility", "utility", "the task's own metric on dev, trained through the defense",
           _of_attack(lambda r: r.utility), lambda u: "\n".join(f"{m} {v:.3f}" for m, v in u.metrics.items()),
           numeric=True, optional=True),
)  # fmt: skip
# What is printed after training: one row per defense and metric.
TRAININGS: tuple[Column[SeedSummary], ...] = (
    Column("dataset", "dataset", "", lambda t: t.dataset),
    Column("encoder", "encoder", "", lambda t: t.encoder),
    Column("defense", "defense", "", lambda t: t.defense),
    Column("metric", "metric", "", lambda t: t.metric),
    Column("mean", "mean", "of the task's own metric on dev data, over seeds", lambda t: t.mean, formats.number,
           numeric=True),
    Column("deviation", "deviation", "standard deviation over seeds", lambda t: t.deviation,
           formats.number, "–", numeric=True),
    Column("seeds", "seeds", "training runs in the mean, and how many failed", lambda t: t,
           lambda t: f"{len(t.records)} ({t.failed} failed)" if t.failed else str(len(t.records)), numeric=True),
    Column("undefended", "undefended", "what the same training reaches without a defense", lambda t: t.undefended,
           formats.number, "–", numeric=True),
    Column("majority", "majority", "what a constant answer reaches", lambda t: t.majority, formats.number,
           numeric=True),
    Column("budget", "ε", "the privacy budget that the defense claims → the one that an accountant finds",
           lambda t: formats.record_epsilon(t.records[0]) or None, numeric=True, optional=True),
)  # fmt: skip
# What is printed after audits, and stands in their CSV files.
AUDITS: tuple[Column[AuditRecord], ...] = (
    Column("id", "id", "of the record, for bench show", lambda r: r.id, tables=_CSV),
    Column("status", "status", "ok, failed or timeout", lambda r: r.status, tables=_CSV),
    Column("dataset", "data set", "", lambda r: r.dataset.label),
    Column("defense", "defense", "", lambda r: r.defense.label),
    Column("seed", "seed", "", lambda r: r.seed, numeric=True),
    Column("protocol", "game", "the game, examples × encodings of each, runs of each of two neighbouring data sets",
           audit_protocol),
    Column("claimed", "ε claimed", "what the defense promises", lambda r: r.claimed_epsilon, formats.bound, "–",
           numeric=True),
    Column("actual", "ε actual", "what an accountant finds", lambda r: r.actual_epsilon, formats.bound, "–",
           numeric=True),
    Column("audited", "ε at least", "what the experiment shows, with 95 % confidence", lambda r: r.audited,
           formats.bound, "–", numeric=True),
    Column("ceiling", "of at most", "what a perfect distinguisher would have shown in so many runs",
           lambda r: r.ceiling, formats.bound, "–", numeric=True),
    Column("delta", "δ", "of the claim", lambda r: r.delta, lambda v: f"{v:g}", "–", numeric=True),
    Column("statistic", "told apart by", "the statistic that rehearsals chose",
           lambda r: r.details.get("statistic")),
    Column("verdict", "verdict", VERDICTS, lambda r: r.verdict),
    Column("seconds", "seconds", "how long the audit took", lambda r: r.cost.attack_s, formats.seconds, numeric=True,
           tables=_CSV),
)  # fmt: skip
METRIC_PARTS = {
    "value": "mean over private examples",
    "low": "lower end of its 95 % interval",
    "high": "upper end of its 95 % interval",
    "random": "what random guessing reaches",
    "random_low": "lower end of the range of 95 % of random attackers",
    "random_high": "upper end of the range of 95 % of random attackers",
}


def attack_csv(lines: Sequence[RecordLine]) -> list[Column[RecordLine]]:
    """The columns of a CSV file of attacks; every metric has one for each of its parts."""
    names = [m for m in METRICS if any(m in a.metrics for line in lines if (a := _attack(line)))]
    parts = [
        Column(f"{name}_{part}", f"{name} {part}", f"{metric_explanation(name)}; {said}", _part(name, part))
        for name in names
        for part, said in METRIC_PARTS.items()
    ]
    return [*shown(RECORDS, lines, "attack"), *parts, *shown(RECORD_ENDS, lines, "attack")]


def utility_csv(lines: Sequence[RecordLine]) -> list[Column[RecordLine]]:
    names = list(
        dict.fromkeys(m for line in lines if isinstance(line.record, UtilityRecord) for m in line.record.metrics)
    )
    values = [Column(m, m, "the task's own metric, on dev data", _utility_value("metrics", m)) for m in names]
    constant = [
        Column(f"{m}_majority", f"{m} majority", "what a constant answer reaches", _utility_value("majority", m))
        for m in names
    ]
    return [*shown(RECORDS, lines, "utility"), *values, *constant, *shown(RECORD_ENDS, lines, "utility")]


def all_metrics(lines: Sequence[RecordLine], names: Sequence[str]) -> list[Column[RecordLine]]:
    """The columns of the table with every metric."""
    metrics = [
        Column(name, name, metric_explanation(name), _metric(name), _with_random, "–", numeric=True) for name in names
    ]
    return [*shown(RECORDS, lines, "metrics"), *metrics, *shown(RECORD_ENDS, lines, "metrics")]


def leak_only(lines: Sequence[RecordLine]) -> list[Column[RecordLine]]:
    """The columns of the table that is printed after a run: what was found, by whom, with what."""
    columns = [*shown(RECORDS, lines, "leak"), *shown(LEAK, lines)]
    one_seed = len({line.record.seed for line in lines}) == 1
    return [column for column in columns if not (one_seed and column.key == "seed")]


def _metric(name: str) -> Callable[[RecordLine], Any]:
    return _of_attack(lambda r: r.metrics.get(name))


def _with_random(metric: Metric) -> str:
    if not isinstance(metric.value, float | int):
        return "–"
    return f"{metric.value:.3f}" + (f" ({metric.random:.3f})" if isinstance(metric.random, float | int) else "")


def _part(name: str, part: str) -> Callable[[RecordLine], Any]:
    return _of_attack(lambda r: getattr(r.metrics.get(name), part, None))


def _utility_value(field: str, name: str) -> Callable[[RecordLine], Any]:
    return lambda line: getattr(line.record, field).get(name)
