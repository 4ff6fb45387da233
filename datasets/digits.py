"""`digits`: 8 × 8 pictures of handwritten digits, which come with scikit-learn: pictures without a download."""

from __future__ import annotations

from dataclasses import dataclass

from bench import DataError, Examples, dataset

# The first part is for training, as in scikit-learn's own examples; the writers of the two parts differ.
TRAIN = 1437


@dataset("digits", paper="Alpaydin and Kaynak 1998", on=("images",))
@dataclass(frozen=True)
class Digits:
    """Handwritten digits, 8×8 in grey, from scikit-learn."""

    def load(self, split: str) -> Examples:
        from sklearn.datasets import load_digits

        if split not in ("train", "dev"):
            raise DataError(f"digits has no split {split!r}: use train or dev")
        found = load_digits()
        rows = slice(0, TRAIN) if split == "train" else slice(TRAIN, None)
        images = found.images[rows, None] / 16.0
        names = [f"digits {split} {i}" for i in range(len(images))]
        return Examples(names, found.target[rows], [str(name) for name in found.target_names], images)
