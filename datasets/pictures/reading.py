"""Picture files: listed in bounded memory, read one by one, checked, cropped where there is something to see."""

from __future__ import annotations

import hashlib
import heapq
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from bench import DataError, Floats, Ints
from bench.errors import BenchError

Colour = Literal["as-is", "grey", "rgb"]
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm")
# A crop has texture if the mean absolute difference of neighbouring pixels (grey, in [0, 1]), down and across, is at
# least this: sky and walls, which hide nothing, are below. InstaHide's authors ask SIFT for 40 key points instead.
TEXTURE = 0.03
# Crops tried of one picture before it is given up.
TRIES = 8


def listed(root: Path, most: int) -> list[str]:
    """Names of picture files below a folder or in a zip file, at most so many: those whose hashes are lowest, so that
    the choice depends on neither order nor machine. A million names pass by; `most` are held."""
    names = (name for name in _names(root) if name.lower().endswith(SUFFIXES))
    chosen = heapq.nsmallest(most, names, key=lambda name: hashlib.sha256(os.fsencode(name)).digest())
    if not chosen:
        raise DataError(f"{root} holds no pictures ({', '.join(SUFFIXES)})")
    return sorted(chosen)


def pictures(root: Path, names: Sequence[str], *, side: int, colour: Colour) -> Floats:
    """n × channels × side × side in [0, 1]; with side 0 as large as they are, which must be the same for all."""
    found: Floats | None = None
    with _opened(root, names, colour) as images:
        for at, image in enumerate(images):
            array = _array(_square(image, side) if side else image)
            if found is None:
                if array.shape[1] != array.shape[2]:
                    raise DataError(f"{names[0]} is {array.shape[2]} × {array.shape[1]}: give side=32 for squares")
                found = np.empty((len(names), *array.shape), dtype=np.float32)
            _check(array, found.shape[1:], names[at])
            found[at] = array
    assert found is not None
    if len(names) > 1 and (found == found[:1]).all():
        raise DataError(f"all pictures in {root} are the same")
    return found


def crops(
    root: Path, names: Sequence[str], *, side: int, colour: Colour, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """A random crop of each picture that has one with enough texture, and the rows of those pictures."""
    found: Floats | None = None
    kept: list[int] = []
    with _opened(root, names, colour) as images:
        for at, image in enumerate(images):
            array = _array(image)
            size = side or min(array.shape[1:])
            if min(array.shape[1:]) < size:
                raise DataError(f"{names[at]} is smaller than side={size}: give a smaller one, or patches=whole")
            if found is None:
                found = np.empty((len(names), array.shape[0], size, size), dtype=np.float32)
            patch = _textured(array, size, rng)
            if patch is not None:
                _check(patch, found.shape[1:], names[at])
                found[len(kept)] = patch
                kept.append(at)
    if found is None or not kept:
        raise DataError(f"no crop of the pictures in {root} has enough texture: use patches=whole")
    return found[: len(kept)], np.array(kept, dtype=np.int64)


def texture(patch: Floats) -> float:
    """The gradient filter: mean absolute difference of neighbouring grey values, down and across."""
    grey = patch.mean(axis=0)
    return float((np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean()) / 2)


def _textured(array: Floats, size: int, rng: np.random.Generator) -> Floats | None:
    height, width = array.shape[1:]
    for _ in range(TRIES):
        top, left = rng.integers(0, height - size + 1), rng.integers(0, width - size + 1)
        patch: Floats = array[:, top : top + size, left : left + size]
        if texture(patch) >= TEXTURE:
            return patch
    return None


def _names(root: Path) -> Iterator[str]:
    if root.is_file():
        with _archive(root) as archive:
            yield from archive.namelist()
        return
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir():
                    waiting.append(name)
                else:
                    yield name


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{path} is neither a folder nor a zip file ({error})") from error


@contextmanager
def _opened(root: Path, names: Sequence[str], colour: Colour) -> Iterator[Iterator[Any]]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise BenchError("pictures in files need Pillow: pip install 'hideseek[images]'") from error

    def read(open_file: Any) -> Iterator[Any]:
        for name in names:
            try:
                with open_file(name) as file, Image.open(file) as image:
                    grey = image.mode in ("1", "L", "I", "F", "I;16", "LA")
                    yield image.convert("L" if colour == "grey" or (colour == "as-is" and grey) else "RGB")
            except (UnidentifiedImageError, OSError, ValueError, SyntaxError, zipfile.BadZipFile) as error:
                raise DataError(f"{name} in {root} cannot be read as a picture: mend or remove it") from error

    if root.is_file():
        with _archive(root) as archive:
            yield read(archive.open)
    else:

        def open_path(name: str) -> IO[bytes]:
            return (root / name).open("rb")

        yield read(open_path)


def _square(image: Any, side: int) -> Any:
    from PIL import ImageOps

    return ImageOps.fit(image, (side, side))


def _array(image: Any) -> Floats:
    array: Floats = np.asarray(image, dtype=np.float32) / np.float32(255)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def _check(array: Floats, shape: tuple[int, ...], name: str) -> None:
    if array.shape[0] != shape[0]:
        kinds = {1: "grey", 3: "in colour"}
        raise DataError(
            f"{name} is {kinds[array.shape[0]]}, and pictures before it are {kinds[shape[0]]}: "
            "give colour=grey or colour=rgb"
        )
    if array.shape != shape:
        sizes = " and ".join(f"{s[2]} × {s[1]}" for s in (shape, array.shape))
        raise DataError(f"{name}: pictures of several sizes ({sizes}): give side=32 to scale them")
