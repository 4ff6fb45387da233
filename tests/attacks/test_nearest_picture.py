from __future__ import annotations

import json
from collections.abc import Callable


def test_noise_alone_does_not_keep_a_picture_from_being_named(bench: Callable) -> None:
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--json", "--examples", "30", "--epochs", "1")
    common = (*common, "--candidates", "200", "--attack", "nearest-picture", "--defense")
    for defense, least in (("none", 0.99), ("laplace-noise:alpha=0.3", 0.9), ("instahide:k=1", 0.5)):
        (record,) = json.loads(bench(*common, defense).stdout)
        assert record["status"] == "ok", record["error"]
        assert record["metrics"]["identity"]["value"] >= least, defense
