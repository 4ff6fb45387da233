"""How far two guesses of one attack agree: for checks of determinism and of the order of a release."""

from __future__ import annotations

from bench.arrays import Ints
from bench.scoring import kinds, packing
from bench.types import Guess


def agreement(first: Guess, other: Guess, order: Ints, width: int) -> float:
    """How far the answers are the same, where `other` saw item `order[i]` in place i; each kind of guess says how."""
    if first.given != other.given or len(first.given) != 1:  # an empty guess agrees with nothing
        return 0.0
    return kinds.kind_of(first).agreement(first, other, order, width)


def identical(first: Guess, other: Guess | None) -> bool:
    """Byte for byte, confidence included; details and trail may hold times."""
    if other is None:
        return False
    (facts, arrays), (other_facts, other_arrays) = (packing.pack(guess, answers_only=True) for guess in (first, other))
    same = arrays.keys() == other_arrays.keys() and all(
        (array.dtype, array.tobytes()) == (other_arrays[name].dtype, other_arrays[name].tobytes())
        for name, array in arrays.items()
    )
    return same and facts == other_facts


def describe(guess: Guess) -> str:
    """Kind, shape and type of a guess, for a checklist."""
    return kinds.kind_of(guess).describe(guess) if len(guess.given) == 1 else f"{len(guess.given)} kinds of answer"
