"""The columns of every table of a board, each with one sentence that explains it where it is shown.

Markdown, LaTeX and page take their columns from here, CSV and terminal from bench.board.record_columns. A new column is
one entry in the tuple of its table; the page shows it, too, without further code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from bench.board import formats
from bench.board.marks import Mark, cell_marks, mark_text
from bench.board.model import AuditRow, BoardCell, DefenseRow, SuiteSummary, UtilityRow, UtilitySummary
from bench.board.worst_case import worst_case
from bench.scoring.metrics import METRICS

Row = TypeVar("Row")
VERDICTS = (
    "refuted: the experiment shows more than is claimed; consistent: it does not; vacuous: there is no claim, or one "
    "that not even a perfect distinguisher could have refuted in so many runs"
)


@dataclass(frozen=True)
class Column(Generic[Row]):
    key: str
    """its name for programs: in CSV files, and in the page's address"""
    title: str
    explanation: str
    value: Callable[[Row], Any]
    """what programs read and the page sorts by"""
    format: Callable[[Any], str] = str
    """of a value that is not None"""
    empty: str = ""
    """shown in its place"""
    numeric: bool = False
    optional: bool = False
    """left out of a table in which no row has a value"""
    tables: frozenset[str] = frozenset()
    """where a kind of row has several tables: those that show the column; empty: all"""

    def text(self, row: Row) -> str:
        value = self.value(row)
        return self.empty if value is None else self.format(value)


def shown(columns: Iterable[Column[Row]], rows: Sequence[Row], table: str = "") -> list[Column[Row]]:
    """The columns of a table: without those of other tables and optional ones that no row has a value for."""
    here = (c for c in columns if not table or not c.tables or table in c.tables)
    return [c for c in here if not c.optional or any(c.value(row) is not None for row in rows)]


def metric_legend(names: Iterable[str]) -> list[str]:
    """`recall: share of …`, in the order of the metrics table."""
    there = set(names)
    return [f"{name}: {about.title}" for name, about in METRICS.items() if name in there]


def metric_explanation(name: str) -> str:
    """One sentence; nothing for a metric that a later version has. docs/metrics.md has the definitions."""
    return METRICS[name].title if name in METRICS else ""


def legend(columns: Iterable[Column[Any]], marks: Iterable[Mark] = (), metrics: Iterable[str] = ()) -> list[str]:
    """What a table shows, a line for each column, mark and metric."""
    lines = [f"{column.title}: {column.explanation}" for column in columns if column.explanation]
    lines += [f"{mark.sign} ({mark.title}): {mark.explanation}" for mark in marks]
    return list(dict.fromkeys([*lines, *metric_legend(metrics)]))


def _utility(metrics: dict[str, UtilitySummary]) -> str:
    return "\n".join(f"{name} {kept(u, formats.spread(u.mean, u.deviation))}" for name, u in metrics.items()) or "–"


def kept(utility: UtilitySummary, value: str) -> str:
    """What a defense leaves of a metric, beside the undefended, and whether that is anything."""
    return f"{value} ({formats.number(utility.undefended)}){', nothing learnt' if utility.idle else ''}"


EPSILON = "the privacy budget ε that the defense claims, and the actual one, which an accountant finds"
ORIGIN = (
    "whose word it is: self-reported by who ran it, replayed with the same result, or made by CI with an attestation; "
    "of several records the weakest"
)

DEFENSES: tuple[Column[DefenseRow], ...] = (
    Column("tier", "tier", "defenses that a bootstrap over private examples does not tell apart by their worst cases "
           "share a tier; 1 hides best", lambda r: r.tier, empty="–", numeric=True),
    Column("defense", "defense", "the defense, with the options that differ from its defaults", lambda r: r.defense),
    Column("epsilon", "ε claimed → actual", f"{EPSILON}, after as many encodings as the strongest attack saw, for "
           "the most exposed example", lambda r: r.epsilon, formats.epsilon, numeric=True, optional=True),
    Column("audited", "ε audited", "the ε that an experiment shows to be the least, with 95 % confidence: the highest "
           "bound of any game, mean over seeds", lambda r: r.audited, lambda v: f"≥ {formats.bound(v)}", numeric=True,
           optional=True),
    Column("utility", "utility (undefended)", "the task's own metric on dev data after training through the defense, "
           "mean ± deviation over seeds; in brackets, what the same training reaches without a defense",
           lambda r: r.utility, _utility, "–", numeric=True, optional=True),
    Column("worst", "worst case", "what the strongest attack finds: the share of private examples, with its 95 % "
           "interval, the attack, its protocol, and how many attacks were tried", lambda r: r, worst_case,
           numeric=True),
)  # fmt: skip

# `flat`: the page's table of all cells. `metrics`: the table of all metrics in Markdown.
_FLAT, _METRICS, _BOTH = frozenset({"flat"}), frozenset({"metrics"}), frozenset({"flat", "metrics"})
CELLS: tuple[Column[BoardCell], ...] = (
    Column("defense", "defense", "the defense, with the options that differ from its defaults", lambda c: c.defense,
           tables=_BOTH),
    Column("attack", "attack", "the attack, with the options that differ from its defaults", lambda c: c.attack,
           tables=_BOTH),
    Column("value", "leak", "the share of what was hidden that the attack found: recall for rankings, success for "
           "reconstructed vectors and images; a mean over seeds", lambda c: c.value, formats.number, numeric=True,
           tables=_FLAT),
    Column("interval", "95 % interval", "bootstrap interval of the leak over private examples",
           lambda c: None if c.value is None else [c.low, c.high], lambda v: formats.interval(*v), numeric=True,
           tables=_FLAT),
    Column("random", "random", "the leak that guessing at random reaches", lambda c: c.random, formats.number,
           numeric=True, tables=_FLAT),
    Column("dataset", "data set", "whose sentences or images are private", lambda c: c.dataset, tables=_FLAT),
    Column("encoder", "encoder", "what makes a vector of each example", lambda c: c.encoder, tables=_FLAT),
    Column("sees", "attacker sees", "what the attack is given besides its options", lambda c: c.sees, ", ".join,
           tables=_FLAT),
    Column("protocol", "protocol", "private examples × encodings of each, and what differs from the defaults",
           lambda c: c.protocol, tables=_BOTH),
    Column("epsilon", "ε claimed → actual", f"{EPSILON} for what the attack sees", lambda c: c.epsilon,
           formats.epsilon, numeric=True, tables=_FLAT),
    Column("attack_s", "seconds", "how long the attack took, mean over seeds", lambda c: c.cost.attack_s,
           formats.seconds, numeric=True, tables=_FLAT),
    Column("peak_mib", "MiB", "the most memory that the attack's process held", lambda c: c.cost.peak_mib,
           formats.count, numeric=True, tables=_FLAT),
    Column("runs", "runs", "seeds, failed ones included", lambda c: len(c.ids), formats.count, numeric=True,
           tables=_FLAT),
    Column("origin", "origin", ORIGIN, lambda c: c.origin, tables=_FLAT),
    Column("records", "records", "ids of the records behind the values, for bench show", lambda c: c,
           lambda c: " ".join([*(f"`{formats.short_id(i)}`" for i in c.ids), cell_marks(c, ("failed", "stale"))])
           .rstrip(), tables=_METRICS),
)  # fmt: skip


class UtilityLine(NamedTuple):
    """One metric of a row of utility."""

    row: UtilityRow
    metric: str
    summary: UtilitySummary


def _printed(line: UtilityLine) -> str | None:
    same = [p for p in line.row.published if p.metric == line.metric]
    return "\n".join(f"{formats.spread(p.value, p.deviation)} ({p.table})" for p in same) or None


def _utility_records(row: UtilityRow) -> str:
    marks = [mark_text("stale", 0, 0, row.stale)] if row.stale else []
    return " ".join([*(f"`{formats.short_id(i)}`" for i in row.ids), *marks])


UTILITY: tuple[Column[UtilityLine], ...] = (
    Column("defense", "defense", "the defense, with the options that differ from its defaults",
           lambda u: u.row.defense),
    Column("epsilon", "ε claimed → actual", EPSILON, lambda u: u.row.epsilon,
           formats.epsilon, numeric=True),
    Column("metric", "metric", "the task's own metric, on dev data", lambda u: u.metric),
    Column("epochs", "epochs", "passes over the data in training", lambda u: u.row.epochs, numeric=True),
    Column("mean", "mean ± deviation", "over seeds; without a deviation it is of one seed",
           lambda u: u.summary, lambda s: formats.spread(s.mean, s.deviation), numeric=True),
    Column("undefended", "undefended", "what the same training reaches without a defense",
           lambda u: u.summary.undefended, formats.number, "–", numeric=True),
    Column("majority", "majority", "what a constant answer reaches", lambda u: u.summary.majority, formats.number,
           numeric=True),
    Column("theirs", "theirs", "what the paper prints", _printed, empty="–", numeric=True),
    Column("records", "records", "ids of the records behind the values, for bench show", lambda u: u.row,
           _utility_records),
)  # fmt: skip


AUDITS: tuple[Column[AuditRow], ...] = (
    Column("defense", "defense", "the defense, with the options that differ from its defaults", lambda a: a.defense),
    Column("protocol", "game", "pair: two neighbouring data sets; canaries: one run; updates: what is sent of two "
           "neighbouring batches; examples × encodings of each, or × rounds; runs of each of the two",
           lambda a: a.protocol),
    Column("claimed", "ε claimed", "what the defense promises", lambda a: a.claimed, formats.bound, "–", numeric=True),
    Column("actual", "ε actual", "what an accountant finds", lambda a: a.actual, formats.bound, "–", numeric=True),
    Column("audited", "ε audited", "the ε that the experiment shows to be the least, with 95 % confidence in each of "
           "its seeds; their mean", lambda a: a.audited, lambda v: f"≥ {formats.bound(v)}", numeric=True),
    Column("ceiling", "of at most", "what a perfect distinguisher would have shown in so many runs",
           lambda a: a.ceiling, formats.bound, numeric=True),
    Column("delta", "δ", "of the claim", lambda a: a.delta, lambda v: f"{v:g}", "–", numeric=True),
    Column("verdict", "verdict", VERDICTS, lambda a: a,
           lambda a: ", ".join(f"{word} {n}/{len(a.seeds)}" for word, n in a.verdicts.items())),
    Column("records", "records", "ids of the records behind the values, for bench show", lambda a: a,
           lambda a: " ".join([*(f"`{formats.short_id(i)}`" for i in a.ids),
                               *([mark_text("stale", 0, 0, a.stale)] if a.stale else [])])),
)  # fmt: skip


class NamedSuite(NamedTuple):
    name: str
    suite: SuiteSummary


SUITES: tuple[Column[NamedSuite], ...] = (
    Column("board", "board", "one for each suite that records were run for; adhoc: for none",
           lambda s: f"[{s.name}](boards/{s.name}.md)"),
    Column("title", "what", "", lambda s: s.suite.title),
    Column("version", "version", "the newest version of the suite that records have", lambda s: s.suite.version,
           numeric=True),
    Column("records", "records", "results that the board shows, failed ones included", lambda s: s.suite.records,
           numeric=True),
    Column("failed", "failed", "runs that failed or ran out of time", lambda s: s.suite.failed, numeric=True),
    Column("stale", "stale", "records made by code that has changed since, and has not been shown to give the same "
           "numbers", lambda s: s.suite.stale, numeric=True),
    Column("superseded", "superseded", "records that a newer one or a newer version of the suite replaces",
           lambda s: s.suite.superseded, numeric=True),
    Column("missing", "missing", "cells that the suite names and no record answers; ?: not known",
           lambda s: "?" if s.suite.problem else s.suite.missing, numeric=True),
)  # fmt: skip
