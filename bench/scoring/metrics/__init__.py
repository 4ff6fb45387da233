"""The metrics, one decorated function each; adding one is all that it takes, besides its test and docs/metrics.md.

New ones go last in the last module: intervals draw their random numbers in the order in which metrics are defined, so
that a metric further up would move those below it. A metric's docstring is what readers are told of it.
"""

from bench.scoring.metrics import corpus, pictures, free_text  # isort: skip # in the order of their random numbers
from bench.scoring.table import METRICS

__all__ = ["METRICS", "corpus", "free_text", "pictures"]
