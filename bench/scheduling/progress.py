"""Tells the user on standard error how far a run is: one live view, or plain lines in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.records.model import Record
    from bench.scheduling.estimates import Forecast

# A log gets a line only for a stage that lasts, and the time left now and then.
QUIET_S = 2.0
SUMMARY_S = 30.0


class Progress:
    """Use as a context manager; `quiet` says nothing but notes."""

    def __init__(self, quiet: bool = False):
        self._live: Any = None
        self._quiet = quiet
        self._finished = self._failed = self._total = 0
        self._lines: list[Line] = []
        self._forecast: Forecast | None = None
        self._workers = 1
        self._summed = time.monotonic()

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and not self._quiet:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(get_renderable=self._view, console=Console(stderr=True), transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def plan(self, known: int, todo: int, forecast: Forecast | None = None, workers: int = 1) -> None:
        self._finished, self._total = known, known + todo
        self._forecast, self._workers = forecast, workers
        left = f", about {self._left()}" if self._left() else ""
        if known:
            self.note(f"{known} of {self._total} cells are on record; {todo} to run{left}")
        elif left:
            self.note(f"{todo} cells to run{left}")

    def note(self, text: str) -> None:
        if self._live:
            self._live.console.print(text, markup=False, highlight=False)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def start(self, title: str) -> Line:
        line = Line(self, title)
        self._lines.append(line)
        return line

    def stage(self, line: Line, text: str) -> None:
        line.said = text
        if not self._live and time.monotonic() - line.spoke >= QUIET_S:
            line.spoke = time.monotonic()
            self.note(f"{line.title}: {text}")

    def close(self, line: Line) -> None:
        if line in self._lines:
            self._lines.remove(line)

    def done(self, title: str, record: Record, seconds: float) -> None:
        self._finished += 1
        good = record["status"] == "ok"
        self._failed += not good
        if self._forecast:
            self._forecast.done(record)
        verdict = record["status"] if good else f"{record['status']}: {record['error']}"
        self.note(f"[{self._finished}/{self._total}] {title}: {verdict} ({seconds:.1f} s)")
        if not self._live and time.monotonic() - self._summed >= SUMMARY_S:
            self._summed = time.monotonic()
            self.note(self._summary())

    def _summary(self) -> str:
        running = min(len(self._lines), self._workers)
        parts = [f"{self._finished} of {self._total} done", f"{running} running", f"{self._failed} failed"]
        return ", ".join([*parts, *([f"about {self._left()} left"] if self._left() else [])])

    def _left(self) -> str:
        from bench.scheduling.estimates import spoken

        seconds = self._forecast.seconds(self._workers) if self._forecast else None
        return "" if seconds is None else spoken(seconds)

    def _view(self) -> Any:
        """The run in one line, and a line for each cell that is running: the first ones, others wait their turn."""
        from rich.console import Group
        from rich.text import Text

        rows = [Text(self._summary(), style="bold")] if self._total else []
        for line in self._lines[: self._workers]:
            rows.append(Text.assemble("  ", line.title, "  ", (f"{line.said} {line.seconds:.0f} s", "dim")))
        return Group(*rows)


class Line:
    """What is being worked on."""

    def __init__(self, progress: Progress, title: str):
        self.title, self.said = title, ""
        self._began = self.spoke = time.monotonic()
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
