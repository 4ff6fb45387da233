"""What a run hands back: its records, and ways to look at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from bench.board.record_columns import METRIC_PARTS
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
from bench.records.store import kind_of

if TYPE_CHECKING:
    import pandas as pd

    from bench.api.tables import Shown
    from bench.errors import BenchError

R = TypeVar("R", bound=Record, covariant=True)


class Results(Sequence[R]):
    """Records, in the order of the cells that were asked for. `errors` are cells for which there is no record."""

    def __init__(self, records: Iterable[R], errors: Iterable[BenchError] = (), trained: Iterable[UtilityRecord] = ()):
        self.records = tuple(records)
        self.errors = tuple(errors)
        self.trained = tuple(trained)
        """the training runs behind the utility of attacked cells"""

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Results[R]: ...
    def __getitem__(self, index: int | slice) -> R | Results[R]:
        found = self.records[index]
        return Results(found, self.errors, self.trained) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[R]:
        return iter(self.records)

    def __repr__(self) -> str:
        return f"<Results: {len(self)} records, {len(self.failed)} failed; .table(), .leak(), .to_dataframe()>"

    def _repr_html_(self) -> str:
        """What a notebook shows of results that end a cell."""
        return self.table()._repr_html_()

    @property
    def failed(self) -> list[R]:
        """Records of cells that came to no good end; `record.error` says why."""
        return [record for record in self.records if record.status != "ok"]

    @property
    def ok(self) -> bool:
        """Whether every cell has a record that came to a good end."""
        return not self.errors and not self.failed

    def table(self, metrics: str = "leak") -> Shown:
        """The table that the command line prints; shown by a terminal (rich), by a notebook, or as text by `print`.

        `metrics="all"`: every metric in place of the one that says how much was found.
        """
        from bench.api import tables

        return tables.of(self.records, metrics, self.trained)

    def to_dataframe(self) -> pd.DataFrame:
        """One row per record and metric, all in columns of plain values; a failed record is one row without a metric.

        Columns: id, kind (attack, utility or audit), status, error, dataset, encoder, defense, attack, seed, examples,
        epochs, metric, value, low, high, random, random_low, random_high, majority.
        """
        import pandas as pd

        return pd.DataFrame([row for record in self.records for row in _rows(record)], columns=list(COLUMNS))

    def leak(self) -> pd.DataFrame:
        """The headline number: the share of the private examples that each attack finds behind each defense.

        One row per data set, encoder, protocol, defense and attack, with the mean over seeds (`leak`), its 95 %
        interval, the random guess's share and how many seeds failed. `metric` says which share it is; where an attack
        finds no examples as such, it is the first metric that it has.
        """
        import pandas as pd

        from bench.api.leak import leak_rows

        return pd.DataFrame(leak_rows([r for r in self.records if isinstance(r, AttackRecord)]))


AUDITED = ("claimed", "actual", "audited")
COLUMNS = (
    *("id", "kind", "status", "error", "dataset", "encoder", "defense", "attack", "seed", "examples", "epochs"),
    *("metric", *METRIC_PARTS, "majority"),
)


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    about: dict[str, Any] = {
        "id": record.id,
        "kind": kind_of(record) or "attack",
        "status": record.status,
        "error": record.error,
        "seed": record.seed,
        "dataset": record.dataset.label,
        "encoder": record.encoder.label,
        "training": record.finetuned.label if record.finetuned else "frozen",
        "defense": record.defense.label,
    }
    metrics: dict[str, dict[str, Any]] = {}
    if isinstance(record, AttackRecord):
        about |= {"attack": record.attack.label, "examples": record.protocol.examples, "epochs": record.protocol.epochs}
        for name, metric in record.metrics.items():
            metrics[name] = {part: _plain(getattr(metric, part, None)) for part in METRIC_PARTS}
    elif isinstance(record, UtilityRecord):
        for name, value in record.metrics.items():
            metrics[name] = {"value": _plain(value), "majority": record.majority.get(name)}
    elif isinstance(record, AuditRecord):
        about |= {"examples": record.protocol.examples, "epochs": record.protocol.epochs}
        for name, number in zip(AUDITED, (record.claimed_epsilon, record.actual_epsilon, record.audited), strict=True):
            metrics[name] = {"value": _plain(number)}
    if not metrics:
        yield about
    for name, parts in metrics.items():
        yield {**about, "metric": name, **parts}


def _plain(value: float | str | None) -> float | None:
    """Infinity is text in a record, and a number in a table."""
    return None if value is None else float(value)
