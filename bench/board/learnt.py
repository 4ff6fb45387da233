"""Whether there was anything to lose: accuracy that is no better than a constant answer says nothing of a defense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.board.model import LEARNT
from bench.board.utility import UNDEFENDED, SeedSummary, summarize
from bench.records import store
from bench.records.model import AttackRecord, Record, UtilityRecord


def trainings_of(records: Sequence[Record], folder: Path) -> list[UtilityRecord]:
    """The records of training that those of attacks name, as far as they are in the folder."""
    wanted = dict.fromkeys(r.utility.id for r in records if isinstance(r, AttackRecord) and r.utility)
    paths = [path for id_ in wanted for path in (folder / store.UTILITY).glob(f"*.{id_}.json")]
    return [found for path in paths if isinstance(found := store.read(path), UtilityRecord)]


def nothing_learnt(trained: Sequence[UtilityRecord]) -> Iterator[str]:
    """A line for each model that is no better than a constant answer: the undefended one first, as then no defense's
    accuracy shows what it costs."""
    lines = [line for line in summarize(trained) if line.mean < line.majority + LEARNT]
    idle = {_place(line): line for line in lines if line.defense == UNDEFENDED}
    for place, line in idle.items():
        yield (
            f"{', '.join(place)}: even without a defense the model learns nothing ({_said(line)}): this shows no cost "
            "of any defense"
        )
    for line in lines:
        if _place(line) not in idle:
            yield f"{', '.join(_place(line))}, {line.defense}: the model has learnt nothing ({_said(line)})"


def _place(line: SeedSummary) -> tuple[str, str]:
    return line.dataset, line.encoder


def _said(line: SeedSummary) -> str:
    return f"{line.metric} {line.mean:.3f}, a constant answer {line.majority:.3f}"
