"""Which sentences a batch is made of, where no gap tells: as many as it has, that have all of its words between them.

With dropout nobody lies in the span, but members lie nearer to it, and every word of the batch is in some member: a
word that only one candidate has names that candidate. An integer programme of one variable for each candidate.
"""

from __future__ import annotations

import numpy as np

from bench import Ints
from bench.attacks.span.subspace import Values

# Seconds that the solver may take; what it has found until then counts.
SECONDS = 20.0


def cover(sentences: list[Ints], words: Ints | None, scores: Values, count: int) -> Ints:
    """Rows of the `count` sentences with the largest scores that leave the fewest words without a sentence."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack

    n = len(sentences)
    if n <= count or words is None:
        return np.sort(np.argsort(-scores, kind="stable")[:count])
    # A word that no candidate has asks for nothing.
    flat = np.concatenate(sentences)
    known = np.intersect1d(words, flat)
    asked = np.isin(flat, known)
    owner = np.repeat(np.arange(n), [len(tokens) for tokens in sentences])[asked]
    row = np.searchsorted(known, flat[asked])
    has = csr_array((np.ones(len(row)), (row, owner)), shape=(len(known), n)).minimum(1)
    # Variables: sentences that are taken, then words that are given up, each at the price of any change of scores.
    spread = float(np.ptp(scores)) or 1.0
    price = np.concatenate([-(scores - scores.min()) / spread, np.full(len(known), float(count))])
    found = milp(
        price,
        integrality=np.ones(n + len(known), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(hstack([has, eye_array(len(known))], format="csr"), lb=1),
            LinearConstraint(np.repeat([1.0, 0.0], [n, len(known)])[None], lb=count, ub=count),
        ],
        options={"time_limit": SECONDS},
    )
    if found.x is None:
        return np.sort(np.argsort(-scores, kind="stable")[:count])
    return np.flatnonzero(found.x[:n] > 0.5)
