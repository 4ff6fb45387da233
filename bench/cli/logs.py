"""What the library logs (`logging.getLogger("bench.…")`) as lines on standard error."""

from __future__ import annotations

import logging
import sys


class StandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        # Looked up now: while a live view is shown, it stands in for standard error.
        print(f"bench: {record.getMessage()}", file=sys.stderr, flush=True)


def attach() -> None:
    """Once, however often the command line is called in a process."""
    log = logging.getLogger("bench")
    if not any(isinstance(handler, StandardError) for handler in log.handlers):
        log.addHandler(StandardError(logging.WARNING))
