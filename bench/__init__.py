"""hideseek: who hides, who seeks, who wins.

What a plugin needs, and what runs experiments from Python (bench.api), is importable from here. Names are resolved on
first use, so that `bench --help` and `bench list` start without NumPy or torch.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .system.threads import wait_patiently

if TYPE_CHECKING:
    from .api.comparing import compare as compare
    from .api.experiments import audit as audit
    from .api.experiments import evaluate as evaluate
    from .api.experiments import run as run
    from .api.experiments import utility as utility
    from .api.reports import report as report
    from .api.rescoring import rescore as rescore
    from .api.results import Results as Results
    from .api.scenes import Scene as Scene
    from .api.scenes import scene as scene
    from .api.stored import leaderboard as leaderboard
    from .api.stored import load as load
    from .api.stored import show as show
    from .api.stored import verify as verify
    from .arrays import Floats as Floats
    from .arrays import Ints as Ints
    from .errors import BenchError as BenchError
    from .errors import DataError as DataError
    from .errors import UsageError as UsageError
    from .isolation.view import View as View
    from .plugins.decorators import attack as attack
    from .plugins.decorators import dataset as dataset
    from .plugins.decorators import defense as defense
    from .plugins.decorators import encoder as encoder
    from .plugins.protocol import Protocol as Protocol
    from .plugins.rounds import UpdateProtocol as UpdateProtocol
    from .toolkit import mixing as mixing
    from .toolkit import privacy as privacy
    from .toolkit import search as search
    from .toolkit.corpus import Corpus as Corpus
    from .types import Examples as Examples
    from .types import Guess as Guess
    from .types import Key as Key
    from .types import Reading as Reading
    from .types import Readings as Readings
    from .types import Release as Release
    from .types import Written as Written

# The one place that says it: setup.cfg and CITATION.cff's test read it here.
__version__ = "0.1.0"

wait_patiently()  # before NumPy or torch

# In a checkout attacks/, defenses/ and datasets/ stand beside this package, not inside it.
ROOT = Path(__file__).resolve().parent.parent
IN_CHECKOUT = (ROOT / "setup.cfg").is_file()
if IN_CHECKOUT:
    __path__.append(str(ROOT))

# Where each name is: the module that holds it or, for mixing, privacy and search, that it is.
EXPORTS = {
    "audit": "bench.api.experiments",
    "compare": "bench.api.comparing",
    "evaluate": "bench.api.experiments",
    "report": "bench.api.reports",
    "run": "bench.api.experiments",
    "utility": "bench.api.experiments",
    "Results": "bench.api.results",
    "Scene": "bench.api.scenes",
    "scene": "bench.api.scenes",
    "rescore": "bench.api.rescoring",
    "leaderboard": "bench.api.stored",
    "load": "bench.api.stored",
    "show": "bench.api.stored",
    "verify": "bench.api.stored",
    "Floats": "bench.arrays",
    "Ints": "bench.arrays",
    "BenchError": "bench.errors",
    "DataError": "bench.errors",
    "UsageError": "bench.errors",
    "attack": "bench.plugins.decorators",
    "dataset": "bench.plugins.decorators",
    "defense": "bench.plugins.decorators",
    "encoder": "bench.plugins.decorators",
    "Protocol": "bench.plugins.protocol",
    "UpdateProtocol": "bench.plugins.rounds",
    "mixing": "bench.toolkit.mixing",
    "privacy": "bench.toolkit.privacy",
    "search": "bench.toolkit.search",
    "Corpus": "bench.toolkit.corpus",
    "Examples": "bench.types",
    "Guess": "bench.types",
    "Key": "bench.types",
    "Reading": "bench.types",
    "Readings": "bench.types",
    "Written": "bench.types",
    "Release": "bench.types",
    "View": "bench.isolation.view",
}


def __getattr__(name: str) -> Any:
    if name in EXPORTS:
        module = import_module(EXPORTS[name])
        return module if EXPORTS[name].endswith(f".{name}") else getattr(module, name)
    raise AttributeError(f"module 'bench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *EXPORTS})
