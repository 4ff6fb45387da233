from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bench import Corpus
from bench.attacks import unmix_part
from bench.attacks.unmix_pictures import UnmixCross
from bench.types import Guess


def test_the_attack_that_it_builds_on_sees_the_known_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def run(self: UnmixCross, view: SimpleNamespace, rng: np.random.Generator) -> Guess:
        seen.append((view.public, view.encodings))
        return Guess(images=np.zeros((1, 1, 1, 2, 2)))

    monkeypatch.setattr(UnmixCross, "run", run)
    public = Corpus([str(i) for i in range(20)], np.arange(80, dtype=np.float32).reshape(20, 4))
    view = SimpleNamespace(public=public, encodings="encodings")
    guess = unmix_part.UnmixPart(coverage=0.3).run(view, np.random.default_rng(0))
    ((part, encodings),) = seen
    assert encodings == "encodings"
    assert guess.details == {"public": 6} == {"public": len(part.texts)}
    np.testing.assert_array_equal(part.vectors, public.vectors[[int(name) for name in part.texts]])


@pytest.mark.parametrize("coverage", [0, -1, 1.5])
def test_a_share_lies_between_0_and_1(coverage: float) -> None:
    with pytest.raises(ValueError, match="coverage"):
        unmix_part.UnmixPart(coverage=coverage)
