from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import ks_2samp

from bench.attacks.ks_test import mean_p, p_values, statistics


def test_p_values_are_scipys() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 7, 40):
        sample = np.round(rng.standard_normal(size), 1)  # with ties
        values = np.append(np.round(rng.standard_normal(30), 1), [-9.0, 9.0])
        expected = [ks_2samp([value], sample, method="exact").pvalue for value in values]
        np.testing.assert_allclose(p_values(values, sample), expected, rtol=1e-9)


def test_statistics_are_those_of_the_paper() -> None:
    encodings = np.random.default_rng(1).standard_normal((5, 27)).astype(np.float32)
    found = statistics(encodings, (3, 3, 3), np.array([0, 5, 9, 26]))
    assert len(found) == 7
    picture = encodings[2].reshape(3, 3, 3)
    varies = sum(abs(picture[c, i + 1, j] - picture[c, i, j]) for c in range(3) for i in range(2) for j in range(3))
    varies += sum(abs(picture[c, i, j + 1] - picture[c, i, j]) for c in range(3) for i in range(3) for j in range(2))
    np.testing.assert_allclose(found["total variation"][2], varies, rtol=1e-5)
    np.testing.assert_allclose(found["location 4"], encodings[:, 26])


def test_a_picture_that_stands_apart_has_a_low_p_against_the_others_and_a_higher_one_against_all() -> None:
    rng = np.random.default_rng(2)
    owner = np.repeat(np.arange(3), 100)
    values = rng.standard_normal(300) + 5 * (owner == 2)
    found = mean_p({"mean": values}, owner, 3, 50)["mean"]
    assert found["other"][2] < 0.05 < found["all"][2]
    assert min(found["other"][:2]) > 0.2


@pytest.mark.slow
def test_it_runs_behind_the_wall_and_one_number_at_a_time_tells_what_is_not_mixed(bench: Callable) -> None:
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--json", "--examples", "10", "--candidates", "10")
    common = (*common, "--epochs", "20", "--attack", "ks-test:encodings=60,tests=10", "--defense")
    (record,) = json.loads(bench(*common, "instahide:k=4").stdout)
    assert record["status"] == "ok", record["error"]
    p = record["details"]["p"]
    assert len(p) == 7
    assert all(len(side) == 10 for parts in p.values() for side in parts.values())
    (plain,) = json.loads(bench(*common, "mix-only:k=1").stdout)
    assert plain["metrics"]["identity"]["value"] > 0.9 > record["metrics"]["identity"]["value"]


def test_more_pictures_mixed_than_tried_is_said_in_a_line(bench: Callable) -> None:
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--examples", "10", "--candidates", "10")
    done = bench(*common, "--defense", "instahide:k=4", "--attack", "ks-test:pictures=3")
    assert "raise pictures" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
