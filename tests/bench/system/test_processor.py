"""Which kernels run is a rule of the processor and one variable, and records say which."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.errors import UsageError
from bench.system import processor

WIDE = {"vendor_id": "AuthenticAMD", "flags": "avx2 avx512f", "model name": "Model"}


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = (processor.kernels, processor.onednn, processor.name)
    monkeypatch.delenv(processor.VARIABLE, raising=False)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


@pytest.mark.parametrize(
    ("facts", "onednn"),
    [
        (WIDE, True),
        ({**WIDE, "flags": "avx2"}, False),
        ({**WIDE, "vendor_id": "GenuineIntel"}, False),
        ({"model name": "Model"}, False),
    ],
)
def test_the_processor_decides_and_its_name_says_so(
    monkeypatch: pytest.MonkeyPatch, facts: dict[str, str], onednn: bool
) -> None:
    monkeypatch.setattr(processor, "_facts", lambda: facts)
    assert processor.onednn() == onednn
    assert processor.name() == ("Model, packed, oneDNN" if onednn else "Model, packed")


def test_reference_kernels_have_the_plain_name_and_go_to_sealed_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_facts", lambda: WIDE)
    monkeypatch.setenv(processor.VARIABLE, "reference")
    assert not processor.onednn()
    assert processor.name() == "Model"
    assert processor.kernel_variables() == {processor.VARIABLE: "reference"}


def test_other_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processor.VARIABLE, "quick")
    with pytest.raises(UsageError, match="BENCH_KERNELS=quick: expected fast or reference"):
        processor.kernels()
