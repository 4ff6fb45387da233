"""hideseek: who hides, who seeks, who wins.

What a plugin needs is importable from here. Names are resolved on first use, so that `bench --help`
and `bench list` start without NumPy or torch.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import UsageError as UsageError
    from .plugin import attack as attack
    from .plugin import dataset as dataset
    from .plugin import defense as defense
    from .plugin import encoder as encoder
    from .protocol import Protocol as Protocol
    from .types import Corpus as Corpus
    from .types import Examples as Examples
    from .types import Guess as Guess
    from .types import Key as Key
    from .types import Release as Release
    from .view import View as View

__version__ = "0.1.0"

# In a checkout attacks/, defenses/ and datasets/ stand beside this package, not inside it.
ROOT = Path(__file__).resolve().parent.parent
IN_CHECKOUT = (ROOT / "setup.cfg").is_file()
if IN_CHECKOUT:
    __path__.append(str(ROOT))

EXPORTS = {
    "UsageError": "bench.errors",
    "attack": "bench.plugin",
    "dataset": "bench.plugin",
    "defense": "bench.plugin",
    "encoder": "bench.plugin",
    "Protocol": "bench.protocol",
    "Corpus": "bench.types",
    "Examples": "bench.types",
    "Guess": "bench.types",
    "Key": "bench.types",
    "Release": "bench.types",
    "View": "bench.view",
}


def __getattr__(name: str) -> Any:
    if name in EXPORTS:
        return getattr(import_module(EXPORTS[name]), name)
    raise AttributeError(f"module 'bench' has no attribute {name!r}")
