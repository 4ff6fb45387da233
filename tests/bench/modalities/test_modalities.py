"""Every modality says the same things, each in its own way."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from bench import Examples, Key, modalities
from bench.errors import DataError, UsageError
from bench.plugins.decorators import ON
from bench.records.model import Dataset

TEXT = Examples(["a", "b"], [0, 1], ("no", "yes"))
IMAGES = Examples(["a", "b"], [0, 1], ("no", "yes"), np.linspace(0, 1, 32).reshape(2, 1, 4, 4))
KEY = Key(np.arange(2), np.arange(2)[:, None], np.ones((2, 1), np.float32))


class Eye:
    def encode(self, images: np.ndarray, device: str) -> np.ndarray:
        return images.reshape(len(images), -1)


@pytest.mark.parametrize("name", ON)
def test_a_modality_has_every_function_with_the_arguments_of_the_others(name: str) -> None:
    found = modalities.get(name)
    for function, wanted in inspect.getmembers(modalities.Modality, inspect.isfunction):
        if function.startswith("_"):
            continue
        mine = list(inspect.signature(getattr(found, function)).parameters)
        assert ["self", *mine] == list(inspect.signature(wanted).parameters), function
    assert isinstance(found.nameable, bool)
    assert found.synthetic["encoder"]
    assert Dataset(name="d", label="d", fingerprint="f", modality=name).modality == name


def test_examples_know_what_they_are() -> None:
    assert (TEXT.modality, TEXT.shape) == ("text", ())
    assert (IMAGES.modality, IMAGES.shape) == ("images", (1, 4, 4))
    assert modalities.of(IMAGES) is modalities.get("images")


def test_pixels_count_for_the_fingerprint_of_images_alone() -> None:
    assert modalities.of(TEXT).content(TEXT) == b""
    other = Examples(IMAGES.texts, IMAGES.labels, IMAGES.classes, IMAGES.images * 0.5)
    assert modalities.of(IMAGES).content(IMAGES) != modalities.of(IMAGES).content(other)


@pytest.mark.parametrize("examples", [TEXT, IMAGES])
def test_joined_examples_keep_all_they_have(examples: Examples) -> None:
    both = modalities.of(examples).joined(examples, examples)
    assert (len(both), both.modality, both.shape, both.classes) == (4, examples.modality, examples.shape, ("no", "yes"))
    assert both.labels.tolist() == [0, 1, 0, 1]


def test_images_are_encoded_as_they_are_and_checked() -> None:
    told: list[str] = []
    vectors = modalities.get("images").encode(Eye(), "eye", IMAGES, "cpu", told.append)
    assert vectors.shape == (2, 16)
    assert told == ["encoding 2 images"]


def test_gradients_of_images_need_weights_and_no_public_text() -> None:
    images = modalities.get("images")
    with pytest.raises(DataError, match="has no weights"):
        images.victim(Eye(), "eye", IMAGES, KEY, 16, np.random.default_rng(0))
    mixed = Key(KEY.owner, KEY.members, KEY.weights, public=np.zeros((2, 1), np.int64))
    with pytest.raises(UsageError, match="mixes with public images release no gradients"):
        images.victim(Eye(), "eye", IMAGES, mixed, 16, np.random.default_rng(0))
