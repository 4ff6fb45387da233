"""Do encodings of one picture look different, one number at a time? InstaHide's Kolmogorov-Smirnov tests (table 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench import Floats, Guess, Ints, Protocol, UsageError, View, attack
from bench.attacks.common.pixels import decoded, scheme_of_pixels
from bench.toolkit.pictures import shape_of

PLACES = 4
# Below it a p-value is as good as zero; its logarithm has to be finite.
LEAST = 1e-12

Values = npt.NDArray[np.float64]


@attack(
    "ks-test",
    sees={"encodings", "corpus", "defense", "encoder"},
    paper="Huang et al. 2020 (InstaHide), appendix E.3, table 4",
    protocol=Protocol(examples=10, epochs=50),
    on=("images",),
)
@dataclass(frozen=True)
class KsTest:
    """Names the candidate whose own encodings each encoding fits best by seven statistics; `details` has mean p-values.

    The attacker hides candidates himself, so that he knows whose an encoding is: the p-values are of those.
    """

    pictures: int = 10
    """candidates that are tried, drawn from the list"""
    encodings: int = 400
    """that the attacker makes of each"""
    tests: int = 50
    """of these, tested one by one against those of all, and of all others"""

    def __post_init__(self) -> None:
        if self.pictures < 2 or not 1 <= self.tests <= self.encodings:
            raise ValueError("pictures must be at least 2, and tests at least 1 and no more than encodings")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        encodings, corpus = np.asarray(view.encodings), np.asarray(view.corpus.vectors)
        shape = shape_of(encodings.shape[1])
        if len(corpus) < 2:
            raise UsageError("there is one candidate, and nothing to tell it from: raise --candidates")
        if scheme_of_pixels(view, encodings.shape[1], rng).k > min(self.pictures, len(corpus)):
            raise UsageError("the scheme mixes more pictures than are tried: raise pictures, or --candidates")
        tried = np.sort(rng.choice(len(corpus), min(self.pictures, len(corpus)), replace=False))
        places = rng.choice(encodings.shape[1], PLACES, replace=False)
        view.stage(f"hiding {len(tried)} candidates {self.encodings} times each")
        release, key = view.defense.release(
            corpus[tried], np.zeros((len(tried), 1), np.float32), rng, epochs=self.encodings
        )
        own = statistics(np.asarray(release.encodings), shape, places)
        view.stage("testing seven statistics")
        given = statistics(encodings, shape, places)
        fits = np.zeros((len(encodings), len(tried)))
        for name, values in given.items():
            for j in range(len(tried)):
                fits[:, j] += np.log(np.maximum(p_values(values, own[name][key.owner == j]), LEAST))
        named = decoded(view, corpus[tried])[fits.argmax(axis=1)]
        return Guess(images=named[:, None], details={"p": mean_p(own, key.owner, len(tried), self.tests)})


def statistics(encodings: Floats, shape: tuple[int, int, int], places: Ints) -> dict[str, Values]:
    """The paper's seven, each a number for every encoding."""
    pictures = encodings.reshape(-1, *shape)
    down, across = (np.abs(np.diff(pictures, axis=axis)).sum(axis=(1, 2, 3)) for axis in (2, 3))
    found = {"mean": encodings.mean(axis=1), "std": encodings.std(axis=1), "total variation": down + across}
    found |= {f"location {i + 1}": encodings[:, place] for i, place in enumerate(places)}
    return {name: values.astype(np.float64) for name, values in found.items()}


def p_values(values: Values, sample: Values) -> Values:
    """Two-sided Kolmogorov-Smirnov test of each value, a sample of one, against a sample of n: exact.

    The distance is the larger share of the sample on one side of the value, whose rank among n + 1 is uniform.
    """
    ordered, n = np.sort(sample), len(sample)
    below = np.searchsorted(ordered, values, side="left")
    above = n - np.searchsorted(ordered, values, side="right")
    found: Values = np.minimum(1.0, 2 * (n - np.maximum(below, above) + 1) / (n + 1))
    return found


def mean_p(own: dict[str, Values], owner: Ints, pictures: int, tests: int) -> dict[str, dict[str, list[float]]]:
    """By statistic: for each picture the mean p of `tests` of its encodings against all, and against the others'."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, values in own.items():
        found[name] = {"all": [], "other": []}
        for j in range(pictures):
            mine, others = values[owner == j][:tests], values[owner != j]
            found[name]["all"].append(float(p_values(mine, values).mean()))
            found[name]["other"].append(float(p_values(mine, others).mean()))
    return found
