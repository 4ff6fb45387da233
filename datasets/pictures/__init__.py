"""Anybody's own pictures, as `pictures:FOLDER`, and Tiny-ImageNet, which InstaHide mixes in as public pictures.

A private data set has a folder for each class, perhaps below train/ and dev/; public pictures need no labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bench import DataError, Examples, UsageError, dataset
from bench.datasets.pictures import reading
from bench.datasets.pictures.reading import Colour
from bench.system.paths import data_dir
from bench.system.seeds import generator

Patches = Literal["crop", "whole"]


@dataset("pictures", on=("images",))
@dataclass(frozen=True)
class Pictures:
    """A folder (or zip file) of pictures: pictures:PATH,side=32."""

    path: str
    """the folder: PATH/CLASS/*.png, or PATH/train/CLASS/… and PATH/dev/CLASS/…; for public pictures any layout"""
    side: int = 0
    """scale to so many pixels a side, cut to a square; 0: all have the same size already"""
    colour: Colour = "as-is"
    """as-is: all grey or all in colour; grey, rgb: made so"""
    most: int = 10_000
    """pictures that are read; of a larger folder a draw by a hash of their names, however they are listed"""
    patches: Patches = "crop"
    """public pictures: random square crops with enough texture, or whole pictures scaled"""

    def __post_init__(self) -> None:
        if self.side < 0 or self.most < 2:
            raise ValueError("side must be 0 or more, and most at least 2")

    def load(self, split: str) -> Examples:
        root = Path(self.path).expanduser()
        if not root.exists():
            raise UsageError(f"no folder {root}")
        if split == "public":
            return public_pictures(root, self.side, self.colour, self.most, self.patches)
        parts = [name for name in ("train", "dev") if (root / name).is_dir()]
        if split == "dev" and "dev" not in parts:
            raise DataError(f"{root} has no dev split: put it at {root / 'dev'}")
        folder = root / split if split in parts else root
        names = reading.listed(folder, self.most)
        labels = [name.split("/")[0] if "/" in name else "" for name in names]
        if not all(labels):
            unlabelled = names[labels.index("")]
            raise DataError(f"{folder / unlabelled} has no label: put pictures into a folder for each class")
        classes = sorted(set(labels))
        images = reading.pictures(folder, names, side=self.side, colour=self.colour)
        return Examples(names, [classes.index(label) for label in labels], classes, images)


@dataset("tiny-imagenet", paper="Le and Yang 2015", on=("images",))
@dataclass(frozen=True)
class TinyImagenet:
    """Photographs, 64×64 in colour: public pictures, as random crops with enough texture."""

    side: int = 32
    """pixels a side of the patches"""
    most: int = 10_000
    """pictures that are read"""
    patches: Patches = "crop"
    """random square crops with enough texture, or whole pictures scaled"""

    def load(self, split: str) -> Examples:
        if split != "public":
            raise DataError(f"tiny-imagenet has no split {split!r}: it is for --public")
        folder = data_dir()
        found = sorted((folder / "public").glob("tiny-imagenet*")) if folder else []
        if not found:
            raise DataError(
                "tiny-imagenet is looked for in $BENCH_DATA_DIR/public/tiny-imagenet*.zip (or a folder of that name): "
                "put it there, or use pictures:FOLDER"
            )
        return public_pictures(found[0], self.side, "rgb", self.most, self.patches)


def public_pictures(root: Path, side: int, colour: Colour, most: int, patches: Patches) -> Examples:
    """Unlabelled. The crops are the same in every run: the seed is that of the names."""
    names = reading.listed(root, most)
    if patches == "whole":
        images = reading.pictures(root, names, side=side, colour=colour)
    else:
        rng = generator(0, "public crops", names, side)
        images, kept = reading.crops(root, names, side=side, colour=colour, rng=rng)
        names = [names[i] for i in kept]
    return Examples(names, np.zeros(len(names), dtype=np.float32), (), images)
