"""Progress of a run on standard error: a live view on a terminal or in a notebook, plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any

from bench.errors import plain

if TYPE_CHECKING:
    from bench.records.model import Record
    from bench.scheduling.estimates import RemainingTime

# Seconds between two lines of a log on what a task is doing, and between two on the time left.
STAGE_INTERVAL_S = 2.0
SUMMARY_INTERVAL_S = 30.0


@dataclass(frozen=True)
class Whole:
    """What a run is a part of, where several runs make a whole to whoever waits for it."""

    finished: int
    total: int
    left: Callable[[], float]
    """seconds until the whole is done"""


class Progress:
    """Use as a context manager; `quiet` says nothing at all."""

    def __init__(self, quiet: bool = False):
        self._live: Any = None
        self._quiet = quiet
        self._finished = self._failed = self._total = 0
        self._lines: list[ProgressLine] = []
        self._remaining: RemainingTime | None = None
        self._whole: Whole | None = None
        self._workers = 1
        self._last_summary = time.monotonic()

    def __enter__(self) -> Progress:
        if not self._quiet and (sys.stderr.isatty() or _live_notebook()):
            from rich.console import Console
            from rich.live import Live

            self._live = Live(get_renderable=self._view, console=Console(stderr=True), transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def part_of(self, whole: Whole | None) -> None:
        """From here on the count and the time left are those of a whole; None: of each run by itself again."""
        self._whole = whole

    def plan(
        self, known: int, todo: int, remaining: RemainingTime | None = None, workers: int = 1, noun: str = "cells"
    ) -> None:
        self._finished, self._total = known, known + todo
        self._remaining, self._workers = remaining, workers
        if self._whole:
            self._finished, self._total = self._whole.finished + known, self._whole.total
            return
        left = f", about {self.time_left()}" if self.time_left() else ""
        if known:
            self.note(f"{known} of {self._total} {noun} are on record; {todo} to run{left}")
        elif left:
            self.note(f"{todo} {noun if todo > 1 else noun.removesuffix('s')} to run{left}")

    def note(self, text: str) -> None:
        if self._live:
            self._live.console.print(text, markup=False, highlight=False)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def start(self, title: str) -> ProgressLine:
        line = ProgressLine(self, title)
        self._lines.append(line)
        return line

    def stage(self, line: ProgressLine, text: str) -> None:
        line.text = text
        if not self._live and time.monotonic() - line.last_shown >= STAGE_INTERVAL_S:
            line.last_shown = time.monotonic()
            self.note(f"{line.title}: {text}")

    def close(self, line: ProgressLine) -> None:
        if line in self._lines:
            self._lines.remove(line)

    def done(self, title: str, record: Record, seconds: float) -> None:
        self._finished += 1
        self._total = max(self._total, self._finished)  # what is to do may turn out to be more than was planned
        ok = record.status == "ok"
        self._failed += not ok
        if self._remaining:
            self._remaining.done(record)
        verdict = record.status if ok else f"{record.status}: {plain(record.error)}"
        self.note(f"[{self._finished}/{self._total}] {title}: {verdict} ({seconds:.1f} s)")
        if not self._live and time.monotonic() - self._last_summary >= SUMMARY_INTERVAL_S:
            self._last_summary = time.monotonic()
            self.note(self._summary())

    def _summary(self) -> str:
        running = min(len(self._lines), self._workers)
        parts = [f"{self._finished} of {self._total} done", f"{running} running", f"{self._failed} failed"]
        return ", ".join([*parts, *([f"about {self.time_left()} left"] if self.time_left() else [])])

    def time_left(self) -> str:
        from bench.scheduling.estimates import format_duration

        if self._whole:
            return format_duration(self._whole.left())
        seconds = self._remaining.seconds(self._workers) if self._remaining else None
        return "" if seconds is None else format_duration(seconds)

    def _view(self) -> Any:
        """The run in one line, and a line for each cell that is running: the first ones, others wait their turn."""
        from rich.console import Group
        from rich.text import Text

        rows = [Text(self._summary(), style="bold")] if self._total else []
        for line in self._lines[: self._workers]:
            rows.append(Text.assemble("  ", line.title, "  ", (f"{line.text} {line.seconds:.0f} s", "dim")))
        return Group(*rows)


def _live_notebook() -> bool:
    """Whether rich can keep a view up to date here: in a notebook it needs ipywidgets, else lines have to do."""
    if "IPython" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return Console().is_jupyter


class ProgressLine:
    """What is being worked on: a row of the live view."""

    def __init__(self, progress: Progress, title: str):
        self.title, self.text = title, ""
        self._began = self.last_shown = time.monotonic()
        self._progress = progress

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def stage(self, text: str) -> None:
        self._progress.stage(self, text)

    def close(self) -> None:
        self._progress.close(self)

    def done(self, record: Record) -> None:
        self.close()
        self._progress.done(self.title, record, self.seconds)
