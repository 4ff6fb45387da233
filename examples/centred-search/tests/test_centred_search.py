import numpy as np
from hideseek_centred_search import CentredSearch

from bench import Corpus
from bench.conformance.checks import check


def test_it_passes_the_conformance_suite():
    report = check("centred-search")
    assert report.ok, report


def test_what_all_vectors_share_does_not_hide_them():
    vectors = np.eye(4, dtype=np.float32) + 100

    class view:
        encodings, corpus, device = vectors[::-1], Corpus(list("abcd"), vectors), "cpu"

    assert CentredSearch(top=1).run(view, None).ranking.ravel().tolist() == [3, 2, 1, 0]
