"""Encoding in packed blocks: transformers' vectors, and each a function of its text alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.encoders import blocks
from bench.encoders.transformers import Hub
from bench.errors import UsageError
from tests.helpers.tiny_models import save_tiny, sentences

FAMILIES = ("bert", "roberta", "mpnet")
TEXTS = [*sentences(60)[0], "a", "a b\tc d e", " ".join(["word"] * 70)]


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / request.param, request.param)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_are_those_of_transformers(folder: Path, pooling: str) -> None:
    plain, packed = (Hub(str(folder), pooling, 30, kernel) for kernel in ("transformers", "packed"))
    np.testing.assert_allclose(packed.encode(TEXTS), plain.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("tokens", [16, 512])
def test_a_vector_depends_on_its_text_alone_bit_for_bit(
    folder: Path, pooling: str, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "TOKENS", tokens)  # 16: some texts are longer than a block
    encoder = Hub(str(folder), pooling, 30, "packed")
    together = encoder.encode(TEXTS)
    assert np.array_equal(together, encoder.encode(TEXTS[::-1])[::-1])
    assert np.array_equal(together[::7], encoder.encode(TEXTS[::7]))
    for row in (0, len(TEXTS) - 1):
        assert np.array_equal(together[row], encoder.encode([TEXTS[row]])[0])


def test_blocks_hold_every_text_once_and_no_more_than_fits() -> None:
    lengths = np.random.default_rng(0).integers(2, 700, 300).tolist()
    dealt = list(blocks.blocks(lengths))
    assert sorted(row for rows in dealt for row in rows) == list(range(300))
    assert all(len(rows) == 1 or sum(lengths[row] for row in rows) <= blocks.TOKENS for rows in dealt)


def test_a_kernel_that_is_chosen_is_part_of_what_the_encoder_is(folder: Path) -> None:
    made = [Hub(str(folder), kernel=kernel).fingerprint for kernel in ("auto", "transformers", "packed")]
    assert len(set(made)) == 3


@pytest.mark.parametrize("kernels", ["fast", "reference"])
def test_by_default_the_packed_kernel_runs_unless_the_reference_is_asked_for(
    folder: Path, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.encoders.transformers.kernels", lambda: kernels)
    default = Hub(str(folder), max_length=30)
    same = Hub(str(folder), max_length=30, kernel="packed" if kernels == "fast" else "transformers")
    assert np.array_equal(default.encode(TEXTS), same.encode(TEXTS))
    # Their last bits differ, so their vectors are kept apart, while the encoder counts as one.
    assert (default.vectors_name == default.fingerprint) == (kernels == "reference")


def test_a_family_that_it_does_not_know_is_refused_with_a_way_out(tmp_path: Path) -> None:
    other = Hub(str(save_tiny(tmp_path / "distil", "distilbert")), kernel="packed")
    with pytest.raises(UsageError, match="kernel=transformers"):
        other.encode(["a"])
    default = Hub(other.model)
    assert not default.runs_packed
    assert default.encode(["a"]).shape[0] == 1
