"""Whether a record can be what it says it is: everything that follows from the record alone, without running it.

What a record says of itself twice must agree: its file's name and its question with its id, the outcomes of its
examples with the metric they are of, its labels with its options. A record that was made up can agree with itself, too:
that is for `bench records replay` to find (bench.experiment.reproduction).
"""

from __future__ import annotations

import calendar
import itertools
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.auditing.bounds import verdict
from bench.errors import UsageError
from bench.experiment.identity import identity
from bench.records import store
from bench.records.model import STAMP, AttackRecord, AuditRecord, Metric, Plugin, Record, UtilityRecord
from bench.scoring import per_example
from bench.scoring.metrics import METRICS
from bench.system.paths import suites_dir

# Seconds that another machine's clock may be ahead of this one's.
CLOCK = 3600
# Outcomes are kept in half precision: a share is off by at most half of its last place. Over the 1,143 published
# records that have outcomes, the mean of the outcomes is off by at most 5.0e-5.
HALF = 2.0**-12
# Metrics have nine decimals.
ROUNDED = 1e-9
_ID = re.compile(r"[0-9a-f]{16}")
_SALT = re.compile(r"[0-9a-f]{64}")


class Problem(NamedTuple):
    """What is wrong with the record in a file."""

    path: Path
    said: str

    def __str__(self) -> str:
        return f"{self.path.name}: {self.said}"


def check_folder(folder: Path, records: Mapping[Path, Record]) -> list[Problem]:
    """Every problem of these records, which lie in `folder`, by file: those of each, and those of some together."""
    found = [Problem(path, said) for path, record in records.items() for said in problems(record, folder, path)]
    places: dict[str, list[Path]] = defaultdict(list)
    for path, record in records.items():
        places[record.id].append(path)
    for id_, paths in places.items():
        first = min(paths, key=lambda path: (path != store.path_of(folder, records[path]), path))
        others = [path for path in paths if path != first]
        found += [Problem(path, f"a second file of the id {id_}: the first is {first.name}") for path in others]
    trained = {record.id: record for record in records.values() if isinstance(record, UtilityRecord)}
    for path, record in records.items():
        beside = record.utility if isinstance(record, AttackRecord) else None
        if beside and beside.id in trained and beside.metrics != trained[beside.id].metrics:
            found.append(Problem(path, f"utility is not that of the record {beside.id} that it names"))
    return found


def problems(record: Record, folder: Path | None = None, path: Path | None = None) -> list[str]:
    """What of a record contradicts itself; nothing if it may be what it says. `path` is its file in `folder`."""
    found = list(_of_identity(record, folder, path))
    found += _of_any(record)
    if isinstance(record, AttackRecord):
        found += _of_attack(record)
    if isinstance(record, UtilityRecord):
        found += _of_training(record)
    if isinstance(record, AuditRecord):
        found += _of_audit(record)
    return found


def _of_identity(record: Record, folder: Path | None, path: Path | None) -> Iterator[str]:
    if not _ID.fullmatch(record.id):
        yield f"id {record.id!r}: 16 hexadecimal digits were expected"
    elif (asked := identity(record.to_dict())) != record.id:
        yield f"id {record.id} is not that of what was asked, which is {asked}"
    if folder is not None and path is not None and path != (wanted := store.path_of(folder, record)):
        yield f"the file of this record is called {wanted.name}"
    named: list[tuple[str, Plugin]] = [
        ("dataset", record.dataset), ("encoder", record.encoder), ("defense", record.defense)
    ]  # fmt: skip
    if isinstance(record, AttackRecord):
        named.append(("attack", record.attack))
    for kind, plugin in named:
        if not _label_fits(plugin):
            yield f"{kind}.label {plugin.label!r} is not that of its name and options"


def _label_fits(plugin: Plugin) -> bool:
    """A label is the name, and those options that are not at their defaults, in order."""
    rest, shown = plugin.label.removeprefix(plugin.name).removeprefix(":"), []
    for option, value in plugin.options.items():
        piece = f"{option}={_spelled(value)}"
        if rest == piece or rest.startswith(f"{piece},"):
            rest = rest[len(piece) + 1 :]
            shown.append(piece)
    return plugin.label == (f"{plugin.name}:{','.join(shown)}" if shown else plugin.name)


def _spelled(value: Any) -> str:
    """An option as a label has it; JSON has a list where Python had a tuple."""
    return str(tuple(value)) if isinstance(value, list) else str(value)


def _of_any(record: Record) -> Iterator[str]:
    ended = record.cost.ended
    if ended and (at := _seconds(ended)) is None:
        yield f"cost.ended {ended!r}: a time such as 2026-01-31T12:00:00Z was expected"
    elif ended and at is not None and at > time.time() + CLOCK:
        yield f"cost.ended {ended} lies in the future"
    for name, value in record.cost.to_dict().items():
        if isinstance(value, int | float) and value < 0:
            yield f"cost.{name} {value} lies below 0"
    for name, version in record.suites.items():
        newest = suite_version(name)
        if version < 1 or (newest is not None and version > newest):
            last = f"its file has {newest}" if newest is not None else "versions begin with 1"
            yield f"suites.{name} {version} is no version of that suite: {last}"
    if (record.status == "ok") != (record.error is None):
        yield f"status {record.status} with {'an' if record.error else 'no'} error"


def _of_attack(record: AttackRecord) -> Iterator[str]:
    for name, metric in record.metrics.items():
        if metric is not None:
            yield from _of_metric(name, metric)
    if record.status == "ok" and not record.metrics:
        yield "status ok without metrics"
    if record.status != "ok" and (record.metrics or record.outcomes):
        yield f"status {record.status} with metrics"
    if record.sealed != (record.salt is not None) and (record.status == "ok" or not record.sealed):
        # A sealed cell that failed before its attack ran has told no salt.
        yield f"{'sealed without a' if record.sealed else 'not sealed, with a'} salt"
    if record.salt is not None and not _SALT.fullmatch(record.salt):
        yield "salt: 64 hexadecimal digits were expected"
    yield from _of_sizes(record)
    yield from _of_outcomes(record)


def _of_metric(name: str, metric: Metric) -> Iterator[str]:
    for parts in (("low", "value", "high"), ("random_low", "random_high")):
        known = [float(part) for key in parts if (part := getattr(metric, key)) is not None]
        if any(one > other + ROUNDED for one, other in itertools.pairwise(known)):
            said = " ≤ ".join(f"{key} {getattr(metric, key)}" for key in parts)
            yield f"metrics.{name}: {said} does not hold"
    about = METRICS.get(name)
    if (
        about is not None
        and about.share
        and any(
            not -0.001 <= float(part) <= 1.001 for part in (metric.low, metric.high, metric.random) if part is not None
        )
    ):
        yield f"metrics.{name}: a share between 0 and 1 was expected"


def _of_sizes(record: AttackRecord) -> Iterator[str]:
    data, sizes = record.dataset, record.protocol
    if sizes.examples < 2 or sizes.epochs < 1 or not 0.0 <= sizes.coverage <= 1.0:
        yield "protocol: no such sizes can be run"
    if data.examples is not None and data.examples != sizes.examples:
        yield f"dataset.examples {data.examples} is not protocol.examples {sizes.examples}"
    limit = sizes.candidates
    if data.candidates is not None and limit is not None and data.candidates > max(limit, 0):
        yield f"dataset.candidates {data.candidates} is more than protocol.candidates {limit}"


def _of_outcomes(record: AttackRecord) -> Iterator[str]:
    if record.outcomes is None:
        leaks = [name for name in record.metrics if name in METRICS and METRICS[name].leak]
        if leaks:
            yield f"no outcomes per example, which metrics.{leaks[0]} is the mean of"
        return
    metric = record.metrics.get(record.outcomes.metric)
    values = per_example.values(record)
    assert values is not None
    if len(values) != record.protocol.examples:
        yield f"outcomes of {len(values)} examples, of {record.protocol.examples}"
    known = values[~np.isnan(values)]
    if known.size and not (known.min() >= 0.0 and known.max() <= 1.0):
        yield "outcomes: shares between 0 and 1 were expected"
        return
    if metric is None or (metric.value is None) != (not known.size):
        yield f"outcomes of {record.outcomes.metric}, of which there is no metric"
    elif known.size:
        assert metric.value is not None
        low, high = _mean_of_items(known, record.protocol.epochs if known.size < len(values) else 1)
        surplus = _surplus(record, len(values))
        if not low * surplus - HALF - ROUNDED <= float(metric.value) <= high * surplus + HALF + ROUNDED:
            mean = f"{low * surplus:.6f}" if low == high else f"between {low * surplus:.6f} and {high * surplus:.6f}"
            said = f"is not the mean of its outcomes, which is {mean}"
            yield f"metrics.{record.outcomes.metric} {metric.value} {said}"


def _mean_of_items(values: Any, epochs: int) -> tuple[float, float]:
    """The least and the largest mean over items that examples of these means can have.

    Every example has as many items as there are epochs, unless the corpus lacks what is mixed into some, which then do
    not count: an example may have from one item to `epochs`. The extremes give the largest ones all weight or none.
    """
    mean = float(values.mean())
    if epochs == 1:
        return mean, mean
    ordered = np.sort(values)
    below, n = np.concatenate([[0.0], np.cumsum(ordered)]), len(ordered)
    cut = np.arange(n + 1)
    heavy_below = (epochs * below + (below[-1] - below)) / (epochs * cut + (n - cut))
    heavy_above = (below + epochs * (below[-1] - below)) / (cut + epochs * (n - cut))
    return float(heavy_below.min()), float(heavy_above.max())


def _surplus(record: AttackRecord, examples: int) -> float:
    """Reconstructions beyond the number of private examples count as wrong, and belong to none of them."""
    count = record.details.get("reconstructed")
    if not isinstance(count, int) or isinstance(count, bool) or count <= examples:
        return 1.0
    return examples / count


def _of_training(record: UtilityRecord) -> Iterator[str]:
    for name, value in [*record.metrics.items(), *record.majority.items()]:
        if value is not None and not -1.0 - ROUNDED <= float(value) <= 1.0 + ROUNDED:
            yield f"metrics.{name} {value} lies beyond 1"
    if record.status == "ok" and not record.metrics:
        yield "status ok without metrics"
    epochs = record.training.get("epochs")
    if not isinstance(epochs, int) or isinstance(epochs, bool) or epochs < 1:
        yield f"training.epochs {str(epochs)[:80]!r}: a whole number from 1 on was expected"


def _of_audit(record: AuditRecord) -> Iterator[str]:
    if (record.status == "ok") != (record.audited is not None):
        yield f"status {record.status} with{'out' if record.audited is None else ''} an audited ε"
    if record.audited is None or record.ceiling is None:
        return
    if not 0 <= float(record.audited) <= float(record.ceiling) + ROUNDED:
        yield f"audited {record.audited} lies beyond its ceiling {record.ceiling}"
    claimed = None if record.claimed_epsilon is None else float(record.claimed_epsilon)
    wanted = verdict(claimed, float(record.audited), float(record.ceiling))
    if record.verdict != wanted:
        yield f"verdict {record.verdict} is not that of its numbers, which is {wanted}"


def suite_version(name: str) -> int | None:
    """The version of a suite of this project; None for a suite that it has not."""
    return _versions().get(name)


@lru_cache(maxsize=1)
def _versions() -> Mapping[str, int]:
    from bench.experiment.suite_file import read_about

    found = {}
    for path in suites_dir().glob("*.toml"):
        try:
            found[path.stem] = read_about(path).version
        except UsageError:  # said by whoever runs it
            continue
    return found


def _seconds(stamp: str) -> float | None:
    try:
        return calendar.timegm(time.strptime(stamp, STAMP))
    except (ValueError, OverflowError):
        return None


def usable(records: Mapping[Path, Record], found: Iterable[Problem]) -> list[Record]:
    """Those without a problem."""
    wrong = {problem.path for problem in found}
    return [record for path, record in records.items() if path not in wrong]


def summary(found: Sequence[Problem], most: int = 20) -> Iterator[str]:
    """A line for each problem, and how many more there are."""
    yield from map(str, found[:most])
    if len(found) > most:
        yield f"and {len(found) - most} more"
