"""Tells the user on standard error how far a run is: one live line per running cell, or plain lines in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records import Record

# A log gets a line only for a stage that lasts.
QUIET_S = 2.0


class Progress:
    """Use as a context manager; `quiet` says nothing but notes."""

    def __init__(self, quiet: bool = False):
        self._live: Any = None
        self._quiet = quiet
        self._finished = self._total = 0

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and not self._quiet:
            from rich.console import Console
            from rich.progress import Progress as Rich
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TextColumn("[dim]{task.fields[stage]}"),
            )
            self._live = Rich(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def plan(self, known: int, todo: int) -> None:
        self._finished, self._total = known, known + todo
        if known:
            self.note(f"{known} of {self._total} cells are on record; {todo} to run")

    def note(self, text: str) -> None:
        if self._live:
            self._live.console.print(text, markup=False, highlight=False)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def start(self, title: str) -> Line:
        task = self._live.add_task(title, total=None, stage="") if self._live else None
        return Line(self, title, task)

    def stage(self, line: Line, text: str) -> None:
        if self._live:
            from rich.markup import escape

            self._live.update(line.task, stage=escape(text))
        elif time.monotonic() - line.spoke >= QUIET_S:
            line.spoke = time.monotonic()
            self.note(f"{line.title}: {text}")

    def done(self, line: Line, record: Record) -> None:
        self._finished += 1
        if self._live:
            self._live.remove_task(line.task)
        seconds = time.monotonic() - line.began
        verdict = record["status"] if record["status"] == "ok" else f"{record['status']}: {record['error']}"
        self.note(f"[{self._finished}/{self._total}] {line.title}: {verdict} ({seconds:.1f} s)")


class Line:
    """One cell's line."""

    def __init__(self, progress: Progress, title: str, task: Any):
        self.title, self.task = title, task
        self.began = self.spoke = time.monotonic()
        self._progress = progress

    def stage(self, text: str) -> None:
        self._progress.stage(self, text)

    def done(self, record: Record) -> None:
        self._progress.done(self, record)
