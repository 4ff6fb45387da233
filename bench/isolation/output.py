"""What an attack prints, line by line on standard error while it runs (`bench run --verbose`)."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import TracebackType

from bench.system.text import printable

# Seconds between two looks at the log, bytes that are read at a time, letters of a line, and lines that are shown: an
# attack may print without end.
INTERVAL_S, CHUNK, LETTERS, MOST_LINES = 0.2, 1 << 16, 500, 10_000


class Followed:
    """Use as a context manager around the attack; `name` stands before each of its lines."""

    def __init__(self, log: Path, name: str):
        self._log, self._name = log, name
        self._rest, self._shown = b"", 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Followed:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        with self._log.open("rb") as log:
            while self._shown <= MOST_LINES:
                over = self._over.is_set()  # looked up before reading: what was printed until then is read
                while (some := log.read(CHUNK)) and self._shown <= MOST_LINES:
                    self._show(some)
                if over:
                    break
                time.sleep(INTERVAL_S)
        if self._rest and self._shown < MOST_LINES:
            self._line(self._rest)

    def _show(self, some: bytes) -> None:
        *lines, self._rest = (self._rest + some).split(b"\n")
        for line in lines:
            self._shown += 1
            if self._shown > MOST_LINES:
                self._line(f"(more than {MOST_LINES:,} lines; the rest is not shown)".encode())
                return
            self._line(line)
        self._rest = self._rest[-CHUNK:]

    def _line(self, line: bytes) -> None:
        # Looked up now: while a live view is shown, it stands in for standard error.
        print(f"{self._name} | {printable(line.decode('utf-8', 'replace'))[:LETTERS]}", file=sys.stderr, flush=True)
