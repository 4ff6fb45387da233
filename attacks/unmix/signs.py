"""Sign recovery: the signed mix behind a masked encoding, from the mean and covariance of the candidates alone.

A mask leaves |x|. The coordinates of an encoder's vectors are so strongly correlated that, given all others, the
spread of one is a small part of what it is alone; so the signs that make x a plausible vector are nearly determined.
Finding them is inference in a Gaussian prior N(mean, rho · covariance) with a two-point likelihood per coordinate,
done by vector approximate message passing (Rangan, Schniter and Fletcher 2019): a linear step in the principal axes and
a tanh in the coordinates take turns, each told the other's opinion without its own echo. One sweep is two products with
a d × d matrix for all encodings at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bench.attacks.unmix.dictionary import Dictionary, Prior
from bench.attacks.unmix.pursuit import refit

# Precisions are kept inside these bounds: outside them a float32 message is rounding error, or says nothing.
LOW, HIGH = 1e-2, 1e8
# The share of each new message that is taken over. Finite dimensions break the theory's independence; full steps
# then oscillate on some encodings.
DAMPING = 0.7


@dataclass
class Message:
    """The linear side's opinion of each coordinate: mean (n × d) and precision (n × 1)."""

    mean: Tensor
    precision: Tensor

    def take(self, rows: Tensor) -> Message:
        return Message(self.mean[rows], self.precision[rows])


@dataclass
class Belief:
    """What is known of the signed mix: `target`, its deviation from the mean along the axes, seen with `noise`.

    `rho` is how much of the covariance the model has still to explain; `fit` is the model in the coordinates.
    """

    target: Tensor
    noise: Tensor
    rho: Tensor
    message: Message | None
    fit: Tensor

    # The relative residual below which a double-precision look is worth its cost.
    near: ClassVar[float] = 1e-2

    def refit(self, dictionary: Dictionary, support: Tensor, weight: float) -> tuple[Tensor, Tensor]:
        metric = 1 / (self.rho * dictionary.spread + self.noise)
        return refit(dictionary, support, self.target, metric, weight)

    def best(
        self, dictionary: Dictionary, model: Tensor, taken: Tensor, weight: float, top: int, prior: Prior | None
    ) -> tuple[Tensor, Tensor]:
        return dictionary.best(self.target - model, self.noise / self.rho, self.rho, taken, weight, top, prior)


def recover(
    dictionary: Dictionary,
    magnitudes: Tensor,
    model: Tensor,
    rho: Tensor,
    noise: Tensor,
    message: Message | None,
    sweeps: int,
    field: Tensor | None = None,
) -> Belief:
    """Sweep the two sides.

    `model` is the explained part along the axes, `noise` the variance that a defense added, `field` half the
    log-odds of each sign from elsewhere.
    """
    spread, axes = dictionary.spread, dictionary.axes
    fit = dictionary.mean + model @ axes.T
    message = message or Message(fit, 1 / rho)
    back, precision = message.mean, message.precision
    for _ in range(sweeps):
        # Coordinates: x is ±magnitude (up to noise); the linear side's opinion weighs the two.
        variance = 1 / precision
        seen = variance + noise
        lean = magnitudes * back / seen
        tilt = torch.tanh(lean if field is None else lean + field)
        trust = variance / seen
        guess = (1 - trust) * back + trust * magnitudes * tilt
        doubt = (trust * noise + (trust * magnitudes).square() * (1 - tilt.square())).mean(1, keepdim=True)
        doubt.clamp_min_(1 / HIGH)
        sure = (1 / doubt - precision).clamp(LOW, HIGH)
        forth = (guess / doubt - precision * back) / sure
        # Axes: the Gaussian prior pulls towards the model, the more the narrower the axis.
        target = (forth - dictionary.mean) @ axes
        posterior = 1 / (1 / (spread * rho) + sure)
        move = posterior * sure * (target - model)
        doubt = posterior.mean(1, keepdim=True)
        fresh = (1 / doubt - sure).clamp(LOW, HIGH)
        opinion = ((fit + move @ axes.T) / doubt - sure * forth) / fresh
        precision = (1 - DAMPING) * precision + DAMPING * fresh
        back = (1 - DAMPING) * back + DAMPING * opinion
        # How wide the unexplained part is, re-estimated as in expectation maximisation.
        rho = ((move.square() + posterior) / spread).mean(1, keepdim=True).clamp(1e-12, 1)
    return Belief(target, 1 / sure, rho, Message(back, precision), fit)


def known(dictionary: Dictionary, encodings: Tensor, model: Tensor, rho: Tensor, noise: Tensor) -> Belief:
    """The same where there is no mask: the signs are right as they are."""
    target = (encodings - dictionary.mean) @ dictionary.axes
    floor = noise.mean().clamp_min(1 / HIGH).expand(len(target), 1)
    for _ in range(4):
        posterior = 1 / (1 / (dictionary.spread * rho) + 1 / floor)
        move = posterior / floor * (target - model)
        rho = ((move.square() + posterior) / dictionary.spread).mean(1, keepdim=True).clamp(1e-12, 1)
    return Belief(target, floor, rho, None, dictionary.mean + model @ dictionary.axes.T)
