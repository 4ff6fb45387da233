"""What attacks on updates share: an update that is fit to be attacked, and its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bench import Ints, UsageError
from bench.surfaces.seen import SeenUpdate, SeenUpdates

# The tensors of an update that say which words there are, and how long sentences are.
WORDS, PLACES = "embeddings.word", "embeddings.position"
# Standard deviations above the usual size of a row at which it cannot be noise: of 30,000 normal numbers the largest
# lies near 4.
FAR = 6.0
# No batch has so many of all words: where as many rows are not zero, noise was added to all.
NOISY = 0.9
# A gradient has no zeros within a row: where there are so many, small entries were dropped, and small rows with them.
PRUNED = 0.1


def needed(seen: SeenUpdates, names: list[str], attack: str) -> list[str]:
    """Those of some tensors that the client sends; an error if it sends none."""
    found = [name for name in names if name in seen.shared]
    if not found:
        raise UsageError(
            f"{attack} reads {' or '.join(names)}, and the client does not send that: it needs --update share=all, "
            "or another attack"
        )
    return found


def tensor(update: SeenUpdate, name: str) -> npt.NDArray[np.float64]:
    """A tensor of an update as float64, if it holds anything."""
    return _told(np.asarray(update[name], dtype=np.float64), name)


def _told(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """The values of an update, if they tell anything."""
    if not np.isfinite(values).all():
        raise UsageError(
            f"the update of {name} holds NaN or infinite values: training has diverged; lower its rate, in --update or "
            "--training, or take precision=bf16 for fp16"
        )
    if not values.any():
        raise UsageError(
            f"the update of {name} is zero everywhere: nothing was learnt from this batch; take another --seed, or a "
            "larger rate in --update"
        )
    return values


def noisy(update: SeenUpdate, name: str, count: int) -> bool:
    """Whether noise was added to all of an embedding's `count` rows."""
    return len(update.rows(name)[0]) >= NOISY * count


def hidden(update: SeenUpdate, name: str, count: int) -> bool:
    """Whether rows that some token chose may not show: under noise, or because small entries were dropped."""
    return noisy(update, name, count) or float((update.rows(name)[1] == 0).mean()) > PRUNED


def touched(update: SeenUpdate, name: str, count: int) -> Ints:
    """Rows of an embedding that some token of the batch chose: those that are not zero or, under noise, those that are
    larger than noise can be, which need not be all."""
    return _chosen(update, name, noisy(update, name, count))


def longest(seen: SeenUpdates, update: SeenUpdate) -> int:
    """Tokens of the batch's longest sentence, from the rows of places.

    A long sentence fills all of those, so that whether they hold noise is asked of the rows of words.
    """
    places = _chosen(update, PLACES, noisy(update, WORDS, seen.shared[WORDS][0]))
    return int(places.max(initial=-1)) + 1 - seen.architecture.offset


def _chosen(update: SeenUpdate, name: str, noise: bool) -> Ints:
    rows, values = update.rows(name)
    _told(values, name)
    if not noise:
        return rows
    size = np.linalg.norm(np.asarray(values, dtype=np.float64), axis=1)
    usual = np.median(size)
    spread = 1.4826 * np.median(np.abs(size - usual))
    found: Ints = rows[size > usual + FAR * spread]
    return found
