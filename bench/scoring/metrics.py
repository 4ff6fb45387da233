"""The metrics, in the order in which tables show them."""

from __future__ import annotations

METRICS = (
    *("identity", "jaccard", "tfidf", "label", "sbert", "hit", "recall", "success"),
    *("mse", "psnr", "cosine", "error"),
)
