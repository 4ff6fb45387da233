"""Guesses kept beside their records, so that a change of scoring does not need the attacks to be run again.

A kept guess is an .npz file of plain arrays: no pickle is written or read. Details are not in it, for the record has
them. What takes more than LIMIT compressed, or UNPACKED in memory, is left out, and the record says so.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.errors import DataError
from bench.records.model import KeptGuess
from bench.scoring import packing
from bench.system.files import atomic_write
from bench.types import Guess

SUFFIX = ".guess.npz"
# Bytes of a kept guess: 1,000 vectors of 768 dimensions take 3 MiB, as many rankings of 16 take 50 KiB.
LIMIT = 4 << 20
UNPACKED = 64 << 20
# The array that holds what is no array, as JSON.
FACTS = "facts"


def path_beside(record: Path) -> Path:
    """Where the guess of the record in this file is kept."""
    return record.with_suffix(SUFFIX)


def pack(guess: Guess) -> tuple[bytes | None, KeptGuess]:
    """The guess as a file, if it is small enough, and what the record says of it."""
    (kind,) = guess.given
    facts, arrays = packing.pack(guess)
    del facts["details"]
    arrays[FACTS] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    size = sum(array.nbytes for array in arrays.values())
    if size > UNPACKED:
        return None, KeptGuess(kind=kind, left_out=f"{size >> 20} MiB, above the limit of {UNPACKED >> 20}")
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    data = file.getvalue()
    if len(data) > LIMIT:
        said = f"{len(data) / (1 << 20):.1f} MiB compressed, above the limit of {LIMIT >> 20}"
        return None, KeptGuess(kind=kind, left_out=said)
    return data, KeptGuess(kind=kind, size=len(data), sha256=hashlib.sha256(data).hexdigest())


def save(record: Path, guess: bytes | None) -> None:
    """Keep the guess of the record in this file; without one, what an earlier run left there goes."""
    place = path_beside(record)
    if guess is None:
        place.unlink(missing_ok=True)
        return
    with atomic_write(place) as part:
        part.write_bytes(guess)


def read(record: Path, kept: KeptGuess | None) -> Guess:
    """The guess of the record in this file. DataError says why there is none."""
    place = path_beside(record)
    if kept is None:
        raise DataError("its guess was not kept: it was made before guesses were, or its attack failed")
    if kept.left_out:
        raise DataError(f"its guess was not kept: {kept.left_out}")
    try:
        data = place.read_bytes()
    except OSError as error:
        raise DataError(f"{place.name} is not beside it ({error.strerror})") from error
    if hashlib.sha256(data).hexdigest() != kept.sha256:
        raise DataError(f"{place.name} is not the guess that the record was made from: its sha256 differs")
    arrays = _arrays(data, place.name)
    try:
        facts: dict[str, Any] = json.loads(arrays.pop(FACTS).tobytes())
    except (KeyError, ValueError) as error:
        raise DataError(f"{place.name} is no guess ({error})") from error
    guess, wrong = packing.read(facts, arrays)
    if guess is None:
        raise DataError(f"{place.name} is no guess: {wrong}")
    return guess


def _arrays(data: bytes, name: str) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(part.file_size for part in archive.infolist()) > 2 * UNPACKED:
                raise ValueError(f"it unpacks to more than {2 * UNPACKED >> 20} MiB")
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{name} cannot be read ({error})") from error
