"""Decode encodings as sparse non-negative mixes of a dictionary, signs unknown, all encodings together.

Rounds alternate three steps: recover the signs given the model so far, choose the candidate that explains most of what
is left, refit. After as many rounds as a mix has slots, each further round empties one slot and fills it again,
which undoes a near-twin chosen early. An encoding leaves the batch once its residual is that of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from bench.attacks.unmix import dense, signs
from bench.attacks.unmix.dictionary import Dictionary, Prior
from bench.attacks.unmix.pursuit import polish

# A relative residual below EXACT is float32 rounding (right supports measure 2e-8 to 2e-7, a missing or wrong sentence
# above 1e-5), so the decoding is right.
EXACT = 2e-6
FIRST_SWEEPS, SWEEPS = 20, 4
# Candidates remembered for each slot.
RUNNERS = 4
# Encodings at a time: about a dozen arrays of this many rows of d float32 live at once (200 MiB at d = 768).
BLOCK = 4096


@dataclass
class Decoded:
    """Per encoding its candidates (-1: none) and their weights, and the relative residual.

    For each slot also the RUNNERS candidates that could best fill it, the chosen one first, and their probabilities.
    """

    support: Tensor
    weights: Tensor
    runners: Tensor
    odds: Tensor
    residual: Tensor

    @property
    def exact(self) -> Tensor:
        return self.residual < EXACT

    @property
    def certainty(self) -> Tensor:
        return self.odds[:, :, 0]

    def put(self, rows: Tensor, other: Decoded) -> None:
        """Take over what `other` says of these rows; it may have fewer slots."""
        slots = other.support.shape[1]
        for mine, theirs in zip(self._slotted(), other._slotted(), strict=True):
            mine[rows, :slots] = theirs
        self.residual[rows] = other.residual

    def take(self, rows: Tensor) -> Decoded:
        return Decoded(*(part[rows] for part in (*self._slotted(), self.residual)))

    def heaviest(self, slots: int) -> Decoded:
        """The `slots` heaviest candidates of each encoding only."""
        order = self.weights.argsort(1, descending=True)[:, :slots]
        wide = order[:, :, None].expand(-1, -1, self.odds.shape[2])
        flat = (self.support.gather(1, order), self.weights.gather(1, order))
        return Decoded(*flat, self.runners.gather(1, wide), self.odds.gather(1, wide), self.residual)

    def _slotted(self) -> tuple[Tensor, ...]:
        return self.support, self.weights, self.runners, self.odds

    @classmethod
    def empty(cls, count: int, slots: int, device: torch.device) -> Decoded:
        return cls(
            torch.full((count, slots), -1, dtype=torch.long, device=device),
            torch.zeros(count, slots, device=device),
            torch.full((count, slots, RUNNERS), -1, dtype=torch.long, device=device),
            torch.zeros(count, slots, RUNNERS, device=device),
            torch.full((count,), float("inf"), device=device),
        )


@dataclass
class _State:
    """The encodings still in the batch; `now` is where they stand, `rows` their place in the whole."""

    rows: Tensor
    seen: Tensor
    now: Decoded
    model: Tensor
    rho: Tensor
    still: Tensor
    message: signs.Message | dense.Sites | None
    prior: Prior | None
    field: Tensor | None

    def take(self, keep: Tensor) -> _State:
        return _State(
            self.rows[keep],
            self.seen[keep],
            self.now.take(keep),
            self.model[keep],
            self.rho[keep],
            self.still[keep],
            self.message and self.message.take(keep),
            self.prior and self.prior.take(keep),
            None if self.field is None else self.field[keep],
        )


def decode(
    dictionary: Dictionary,
    encodings: Tensor,
    slots: int,
    *,
    masked: bool,
    concentration: float,
    noise: Tensor,
    cycles: int,
    prior: Prior | None = None,
    field: Tensor | None = None,
    start: Tensor | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Decoded:
    """`encodings` are in the dictionary's coordinates (`Dictionary.load`), `noise` is their variance per coordinate.

    From elsewhere may come a `prior` of the candidates, a `field` on the signs (see `recover`), and a candidate to
    `start` each encoding with (-1: none).
    """
    slots = min(slots, len(dictionary))
    count, device = len(encodings), encodings.device
    found = Decoded.empty(count, slots, device)
    careful = masked and dense.dominated(dictionary)
    block = dense.block(dictionary.dim) if careful else BLOCK
    for at in range(0, count, block):
        rows = torch.arange(at, min(at + block, count), device=device)
        state = _State(
            rows,
            encodings[rows].abs() if masked else encodings[rows],
            Decoded.empty(len(rows), slots, device),
            torch.zeros(len(rows), dictionary.dim, device=device),
            torch.full((len(rows), 1), concentration, device=device),
            torch.zeros(len(rows), dtype=torch.long, device=device),
            None,
            prior and prior.take(rows),
            None if field is None else field[rows],
        )
        first = None if start is None else start[rows]
        if first is not None:
            # Half the weight, about what the heaviest sentence of a mix has.
            state.model = torch.where(first[:, None] >= 0, 0.5 * dictionary.atoms[first.clamp_min(0)], 0.0)
        for turn in range(slots * (1 + cycles)):
            tell(f"round {turn + 1}, {count - at - len(rows) + len(state.rows):,} encodings open")
            state = _round(dictionary, state, turn, masked, noise, concentration / slots, found, first)
            first = None
            if not len(state.rows):
                break
    return found


def _round(
    dictionary: Dictionary,
    state: _State,
    turn: int,
    masked: bool,
    noise: Tensor,
    weight: float,
    found: Decoded,
    first: Tensor | None,
) -> _State:
    now = state.now
    slots = now.support.shape[1]
    each = torch.arange(len(state.rows), device=state.rows.device)
    belief = _observe(dictionary, state, masked, noise)
    model = state.model
    if turn < slots:
        slot = torch.full_like(each, turn)
        before = None
    else:
        # Light candidates first: they are the ones that an error elsewhere brings in.
        slot = now.weights.argsort(1)[:, (turn - slots) % slots]
        before = now.support[each, slot]
        now.support[each, slot] = -1
        _, model = belief.refit(dictionary, now.support, weight)
    top = 1 if before is None else RUNNERS
    index, odds = belief.best(dictionary, model, now.support, weight, top, state.prior)
    if first is not None:
        index[:, 0] = torch.where(first >= 0, first, index[:, 0])
    now.support[each, slot] = index[:, 0]
    now.runners[each, slot, : index.shape[1]], now.odds[each, slot, : index.shape[1]] = index, odds
    now.weights, state.model = belief.refit(dictionary, now.support, weight)
    state.rho, state.message = belief.rho, belief.message

    fit = dictionary.mean + state.model @ dictionary.axes.T
    wrong = state.seen - (fit.abs() if masked else fit)
    now.residual = wrong.norm(dim=1) / state.seen.norm(dim=1).clamp_min(1e-30)
    near = torch.nonzero(now.residual < belief.near)[:, 0]
    weights = now.weights.clone()
    if len(near):
        weights[near], now.residual[near] = polish(
            dictionary, now.support[near], now.weights[near], state.seen[near], masked
        )
    better = torch.nonzero(now.residual < found.residual[state.rows])[:, 0]
    found.put(state.rows[better], now.take(better))
    found.weights[state.rows[better]] = weights[better]

    # Every slot emptied and filled with the same candidate again: nothing will change any more.
    if before is not None:
        state.still = torch.where(index[:, 0] == before, state.still + 1, 0)
    return state.take(torch.nonzero((now.residual >= EXACT) & (state.still < slots))[:, 0])


def _observe(dictionary: Dictionary, state: _State, masked: bool, noise: Tensor) -> signs.Belief | dense.DenseBelief:
    """The signed mixes as far as they are known, by the cheapest way that fits the candidates."""
    seen, model, rho, message = state.seen, state.model, state.rho, state.message
    if not masked:
        return signs.known(dictionary, seen, model, rho, noise)
    if dense.dominated(dictionary):
        assert not isinstance(message, signs.Message)
        return dense.recover(dictionary, seen, model, rho, noise, message, state.field)
    assert not isinstance(message, dense.Sites)
    sweeps = FIRST_SWEEPS if message is None else SWEEPS
    return signs.recover(dictionary, seen, model, rho, noise, message, sweeps, state.field)
