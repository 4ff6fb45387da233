"""What the library logs (`logging.getLogger("bench.…")`) as lines on standard error."""

from __future__ import annotations

import logging
import sys


class StandardError(logging.Handler):
    def __init__(self, level: int):
        super().__init__(level)
        self.said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Once: a file that is read for each split is the same file."""
        message = record.getMessage()
        if message not in self.said:
            self.said.add(message)
            # Looked up now: while a live view is shown, it stands in for standard error.
            print(f"bench: {message}", file=sys.stderr, flush=True)


def attach() -> None:
    """One handler, however often the command line is called in a process; each call says everything anew."""
    log = logging.getLogger("bench")
    for handler in log.handlers:
        if isinstance(handler, StandardError):
            handler.said.clear()
            return
    log.addHandler(StandardError(logging.WARNING))
