"""What an attack made of pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.scoring.table import metric

# TextHide, section 4.3: an attack succeeds if the mean squared error is at most this, for pixels in [0, 1].
SUCCESS = 1e-3
# The least error that PSNR tells from none at all: 80 dB.
LEAST = 1e-8

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ImageErrors:
    """How far the recovered images are from the private ones."""

    own: Values
    """mean squared error of each item's own image, matched one to one where several were guessed"""
    recovered: Values | None
    """share of the different images of each mix that some guess recovers; None where guesses belong to no mix"""
    finite: npt.NDArray[np.bool_]
    ssim: Values
    """structural similarity to each item's own image"""


@dataclass(frozen=True)
class NamedImages:
    """Which image of the attacker's candidates each recovered one is nearest to."""

    right: npt.NDArray[np.bool_]
    """it is the item's own"""


@metric(
    "recall", of="images", title="share of the images mixed into an encoding that are recovered", order=70, share=True
)
def image_recall(images: ImageErrors) -> Values:
    """Of images: share of the different images in a mix that some guess recovers."""
    assert images.recovered is not None
    return np.where(images.finite, images.recovered, 0.0)


@metric(
    "success", of="images", title="share of the private examples that are recovered", order=80, share=True, leak=True
)
def image_success(images: ImageErrors) -> Values:
    """By images: the mean squared error is at most 0.001 for pixels in [0, 1]."""
    return ((images.own <= SUCCESS) & images.finite).astype(np.float64)


@metric("mse", of="images", title="mean squared error of the recovered images, per pixel", order=90)
def mse(images: ImageErrors) -> Values:
    """Mean squared error of the recovered image, for pixels in [0, 1]; what is not finite counts as black."""
    return images.own


@metric("psnr", of="images", title="peak signal-to-noise ratio of the recovered images, in dB", order=100)
def psnr(images: ImageErrors) -> Values:
    """10 · log₁₀(1 / mean squared error), at most 80 dB."""
    return -10 * np.log10(np.maximum(images.own, LEAST))


@metric("ssim", of="images", title="structural similarity of the recovered images", order=105)
def ssim(images: ImageErrors) -> Values:
    """Mean structural similarity of the recovered image (scikit-image's window of 7 × 7 and constants, pixels in
    [0, 1], mean over channels); what is not finite counts as black, an image without an answer as 0."""
    return np.where(images.finite, images.ssim, 0.0)


@metric(
    "identity",
    of="candidates",
    title="share of encodings whose first answer is the very sentence the encoding belongs to",
    order=10,
    share=True,
)
def image_identity(named: NamedImages) -> Values:
    """Of images: 1 if of all candidates the image itself is nearest to the recovered one, in squared error."""
    return named.right.astype(np.float64)
