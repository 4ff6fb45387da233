"""What leaves a client: the surfaces that an attack may see. Each is a class in a file of its own, named by its word in
`sees`. Adding one takes that file and its word in bench.plugins.decorators.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from bench.errors import UsageError
from bench.plugins.decorators import SURFACES
from bench.surfaces.base import Client, Surface

__all__ = ["LIMIT", "Client", "Surface", "build", "class_of", "get"]

# Bytes that one surface may take on disk.
LIMIT = 4 << 30


def class_of(word: str) -> str:
    """Where a surface is defined, as `module:class`."""
    return f"bench.surfaces.{word}:{word.capitalize()}"


def get(word: str) -> type[Surface]:
    module, _, cls = class_of(word).partition(":")
    surface: type[Surface] = getattr(import_module(module), cls)
    return surface


def build(sees: Collection[str], client: Client) -> dict[str, Surface]:
    """The surfaces among `sees`, none of them too large."""
    found = {word: get(word).build(client) for word in SURFACES if word in sees}
    for word, surface in found.items():
        items, size = len(client.key.owner), surface.size()
        if size > LIMIT:
            raise UsageError(
                f"{word} of {items} items take {size >> 20} MiB, above the limit of {LIMIT >> 20} MiB: lower "
                f"--examples (times --epochs) to {items * LIMIT // size}, or take a smaller encoder"
            )
    return found
