"""Errors that a user sees as one line: what was wrong, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class BenchError(Exception):
    """Something the user can mend; printed without a traceback."""

    exit_code = 1


class UsageError(BenchError):
    """A wrong name, option or combination; nothing has been run."""

    exit_code = 2


class DataError(BenchError):
    """A data set, vector or file that cannot be used as it is."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; carries the records of what was finished, all of which are saved, and how many were due."""

    def __init__(self, done: Sequence[Any], total: int):
        super().__init__()
        self.done, self.total = done, total


def plain(reason: str | None) -> str:
    """A record's reason as people read it: what was written for users goes without the name of its class."""
    return (reason or "").removeprefix(f"{UsageError.__name__}: ")


def unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    """`unknown attack 'rsss': did you mean 'rss'? known: ...`"""
    names = sorted(set(known))
    return UsageError(f"unknown {what} {name!r}: {closest(name, names)}known: {', '.join(names) or 'none'}")


def closest(name: str, known: Sequence[str], cutoff: float = 0.5) -> str:
    """`did you mean 'rss'? `, or nothing if no name resembles it."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"did you mean {close[0]!r}? " if close else ""
