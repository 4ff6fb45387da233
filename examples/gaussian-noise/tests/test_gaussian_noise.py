import numpy as np
from hideseek_gaussian_noise import GaussianNoise

from bench.conformance.checks import check


def test_it_passes_the_conformance_suite():
    report = check("gaussian-noise")
    assert report.ok, report


def test_the_noise_is_as_large_as_asked_for():
    vectors, labels = np.zeros((200, 50), dtype=np.float32), np.ones((200, 1), dtype=np.float32)
    release, _ = GaussianNoise(scale=0.5).release(vectors, labels, None, np.random.default_rng(0), epochs=2)
    assert abs(release.encodings.std() - 0.5) < 0.02
