"""InstaHide's table 4: Kolmogorov-Smirnov tests of whether encodings of one picture differ from those of others.

    python benchmarks/instahide_ks.py [--dataset digits] [--k 4]

As the paper has it: 10 pictures, 400 encodings of each, 50 of these tested one by one, seven statistics, against all
encodings (All) and against those of the other pictures (Other); mean p-values. High ones are said to show that nothing
leaks. The last column is the same test on what the attacks of this suite look at, and does not see it either: a test of
one number at a time says nothing of a picture.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import ks_2samp

from bench.defenses.instahide import InstaHide
from bench.encoders.pixels import Pixels
from bench.experiment.cells import choose
from bench.plugins.registry import Registry
from bench.toolkit.pictures import shape_of

PICTURES, ENCODINGS, TESTED = 10, 400, 50


def statistics(encodings: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Seven of the paper's, one of ours; a number for each encoding."""
    pictures = encodings.reshape(len(encodings), *shape_of(encodings.shape[1]))
    down, across = np.abs(np.diff(pictures, axis=2)), np.abs(np.diff(pictures, axis=3))
    places = rng.choice(encodings.shape[1], 4, replace=False)
    found = {
        "mean": encodings.mean(axis=1),
        "std": encodings.std(axis=1),
        "total variation": down.sum(axis=(1, 2, 3)) + across.sum(axis=(1, 2, 3)),
        **{f"location {i + 1}": encodings[:, place] for i, place in enumerate(places)},
    }
    magnitudes = np.abs(pictures)
    found["differences of magnitudes"] = np.abs(np.diff(magnitudes, axis=3)).mean(axis=(1, 2, 3))
    return found


def mean_p(values: np.ndarray, owner: np.ndarray, picture: int) -> tuple[float, float]:
    """Against all, against those of other pictures."""
    mine = values[owner == picture][:TESTED]
    others = values[owner != picture]
    return tuple(float(np.mean([ks_2samp([v], some).pvalue for v in mine])) for some in (values, others))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="digits")
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    images = choose(Registry(), "dataset", given.dataset).plugin.load("train").images
    vectors = Pixels().encode(images[rng.choice(len(images), PICTURES, replace=False)])
    labels = np.zeros((PICTURES, 1), np.float32)
    release, key = InstaHide(k=given.k).release(vectors, labels, None, rng, epochs=ENCODINGS)
    found = statistics(np.asarray(release.encodings), rng)
    print("| picture | " + " | ".join(f"{name}, all / other" for name in found) + " |")
    print("| --- |" + " --- |" * len(found))
    for picture in range(PICTURES):
        cells = (mean_p(values, key.owner, picture) for values in found.values())
        print(f"| {picture + 1} | " + " | ".join(f"{a:.2f} / {b:.2f}" for a, b in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
