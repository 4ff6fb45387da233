"""Guesses kept beside their records, so that a change of scoring does not need the attacks to be run again."""

from __future__ import annotations

from pathlib import Path

from bench.system.files import atomic_write

SUFFIX = ".guess.npz"


def path_beside(record: Path) -> Path:
    """Where the guess of the record in this file is kept."""
    return record.with_suffix(SUFFIX)


def save(record: Path, guess: bytes | None) -> None:
    """Keep the guess of the record in this file; without one, what an earlier run left there goes."""
    place = path_beside(record)
    if guess is None:
        place.unlink(missing_ok=True)
        return
    with atomic_write(place) as part:
        part.write_bytes(guess)
