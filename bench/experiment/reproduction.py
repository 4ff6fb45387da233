"""Random re-execution: a sample of records is run again, and those that do not come out are marked.

A made-up record can agree with itself (bench.experiment.integrity); it cannot agree with a run of what it says was run.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from bench.errors import BenchError, UsageError
from bench.experiment.migration import OTHER_PROCESSOR, stratum
from bench.experiment.replay import ASKED, Difference, compare
from bench.records.model import STAMP, AttackRecord, Record, UtilityRecord
from bench.records.origin import KEPT, Origin
from bench.system import processor

# What of a measured record is compared on another processor: there the numbers of an optimiser may differ in every
# digit, and its outcomes in single examples.
COARSE = ("status", "metrics", "majority", "notes")
# Of the difference between two runs of training on different processors.
TRAINED = 0.05
LONGEST = 200


@dataclass(frozen=True)
class Verdict:
    """What a repetition of a record came to."""

    record: Record
    outcome: Literal["reproduced", "not reproduced", "not run"]
    said: str
    """how well the two agree, or why it was not run"""
    differences: list[str] = field(default_factory=list)

    @property
    def origin(self) -> Origin | None:
        """What to write into the record; None if it stays as it is."""
        at = time.strftime(STAMP, time.gmtime())
        if self.outcome == "not reproduced":
            some = [text[:LONGEST] for text in self.differences[:KEPT]]
            return Origin(kind="not reproduced", reference=f"{at}, {processor.name()}"[:LONGEST], differences=some)
        before = self.record.origin
        if self.outcome == "not run" or (before is not None and before.kind == "ci"):
            return before
        return Origin(kind="replayed", reference=f"{self.said}, {at}, {processor.name()}"[:LONGEST])


def sample(records: Sequence[Record], count: int, seed: int) -> list[Record]:
    """So many records, drawn at random: a stratum (data set, encoder, defense, attack) gives its second when every
    other one has given its first. What it claims to cost has no say, or a forger would claim a day.

    Cells that ran out of time are left out: that they do again proves nothing.
    """
    rng = np.random.default_rng([seed, len(records)])
    strata: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.id):
        if record.status != "timeout":
            strata[stratum(record)].append(record)
    for some in strata.values():
        rng.shuffle(some)
    order = sorted(strata)
    chosen: list[Record] = []
    for turn in range(max(map(len, strata.values()), default=0)):
        ready = [place for place in order if len(strata[place]) > turn]
        chosen += [strata[ready[i]][turn] for i in rng.permutation(len(ready))]
    return chosen[:count]


def judge(old: Record, new: Record) -> Verdict:
    """On the processor that made a record, everything must come out bit for bit. On another one, what was asked and
    shown must, and each metric must lie within the other's 95 % interval."""
    found = compare(old, new)
    if not found:
        return Verdict(old, "reproduced", "bit for bit")
    if old.versions.get("processor") == processor.name():
        return Verdict(old, "not reproduced", "other numbers", list(map(str, found)))
    small = [difference for difference in found if difference.size <= OTHER_PROCESSOR]
    if len(small) == len(found):
        return Verdict(old, "reproduced", f"to {max(d.size for d in found):.0e}, on another processor")
    wrong = [difference for difference in found if difference not in small and not _close(difference, old, new)]
    if wrong:
        return Verdict(old, "not reproduced", "other numbers", list(map(str, wrong)))
    return Verdict(old, "reproduced", "within its intervals, on another processor")


def _close(difference: Difference, old: Record, new: Record) -> bool:
    """Whether this may be the work of another processor."""
    part, *rest = difference.where.split(".")
    if part in ASKED:
        return False
    if part not in COARSE:
        return True  # the samples, details and outcomes of numbers that are compared
    if isinstance(old, UtilityRecord):
        return difference.size <= TRAINED
    if part != "metrics" or not isinstance(old, AttackRecord) or not isinstance(new, AttackRecord):
        return False
    one, other = old.metrics.get(rest[0]), new.metrics.get(rest[0])
    if one is None or other is None or rest[1:] != ["value"]:
        return one is not None and other is not None  # the ends of an interval, judged by the value between them
    return _inside(other.value, one.low, one.high) and _inside(one.value, other.low, other.high)


def _inside(value: float | str | None, low: float | str | None, high: float | str | None) -> bool:
    if value is None or low is None or high is None:
        return value is None and low is None and high is None
    return float(low) - OTHER_PROCESSOR <= float(value) <= float(high) + OTHER_PROCESSOR


def verdicts(records: Iterable[Record], again: Callable[[Record], Record]) -> Iterator[Verdict]:
    """Each record beside another run of it (`again`)."""
    for record in records:
        try:
            new = again(record)
        except BenchError as error:  # data, weights or a plugin that this machine has not
            yield Verdict(record, "not run", str(error))
            continue
        if new.status != "ok" and record.status == "ok":
            said = f"status: ok on record, {new.status} now ({new.error})"
            yield Verdict(record, "not reproduced", "it fails", [said])
            continue
        yield judge(record, new)


def changed_since(revision: str, folder: Path, files: Mapping[Path, Record]) -> dict[Path, Record]:
    """The records in a folder whose files differ from those of a revision of the repository that it lies in."""
    if revision.startswith("-"):
        raise UsageError(f"--changed-since {revision}: the name of a revision was expected")
    words = ["git", "-C", str(folder)]
    try:
        top = _output([*words, "rev-parse", "--show-toplevel"]).decode().rstrip("\n")
        # Names end with a zero byte: they may hold anything else. Renamed files are listed as new ones, and so are
        # those that are not yet added.
        listed = _output([*words, "diff", "--name-only", "--no-renames", "--diff-filter=d", "-z", revision, "--", "."])
        listed += _output([*words, "ls-files", "--others", "--full-name", "-z", "--", "."])
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        short = " ".join(said.decode("utf-8", "replace").split())[:LONGEST]
        raise UsageError(f"--changed-since {revision}: git cannot say what has changed ({short})") from error
    changed = {Path(top) / os.fsdecode(name) for name in listed.split(b"\0") if name}
    return {path: record for path, record in files.items() if path.resolve() in changed}


def _output(words: list[str]) -> bytes:
    return subprocess.run(words, capture_output=True, check=True).stdout
