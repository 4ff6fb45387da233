"""The decorators that turn a frozen dataclass into an attack, a defense, a data set or an encoder.

A decorator only stamps the class; finding and loading is the registry's work. So importing a plugin has
no side effect, and the same file can be loaded twice without a collision with itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bench.errors import UsageError, unknown
from bench.plugins import names
from bench.plugins.protocol import Protocol
from bench.plugins.rounds import UpdateProtocol

KINDS = ("attack", "defense", "dataset", "encoder")
# What may leave a client (bench.surfaces), and what an attacker may know besides.
SURFACES = ("encodings", "labels", "gradients", "updates", "pairs")
SEES = (*SURFACES, "corpus", "public", "encoder", "defense", "oracle")
ON = ("text", "images")
METHODS = {"attack": "run", "defense": "release", "dataset": "load", "encoder": "encode"}

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class Info:
    """What the decorator was told; the class carries it as `__plugin__`."""

    kind: str
    name: str
    paper: str = ""
    sees: tuple[str, ...] = ()
    protocol: Protocol = field(default_factory=Protocol)
    public: str = ""
    metrics: tuple[str, ...] = ()
    on: tuple[str, ...] = ("text",)
    """what it holds, takes or works on: text, images"""
    tensors: tuple[str, ...] = ()
    """of an update, those that an attack reads (bench.surfaces.updates)"""


def _stamp(info: Info) -> Callable[[T], T]:
    names.check(info.name, info.kind)

    def decorate(cls: T) -> T:
        if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise UsageError(f"{info.kind} {info.name!r}: put @dataclass(frozen=True) below the @{info.kind} decorator")
        method = METHODS[info.kind]
        if not callable(getattr(cls, method, None)):
            raise UsageError(f"{info.kind} {info.name!r} needs a method {method}()")
        cls.__plugin__ = info  # type: ignore[attr-defined]
        return cls

    return decorate


def attack(
    name: str,
    *,
    sees: Collection[str],
    paper: str = "",
    protocol: Protocol | None = None,
    on: Collection[str] = ("text",),
    tensors: Collection[str] = (),
) -> Callable[[T], T]:
    """`sees` is the threat model: exactly what the attack's view will hold. `on`: text, images or both.

    `tensors`, with `updates` in `sees`: those of an update that are laid out, such as `embeddings.word` or
    `first.qkv.weight`; `first` is the lowest layer that is shared, `second` the one above it, `last` the top one.
    """
    for word in sees:
        if word not in SEES:
            raise unknown(f"word in sees of attack {name!r}:", word, SEES)
    if bool(tensors) != ("updates" in sees):
        raise UsageError(f"attack {name!r}: sees={{'updates'}} and tensors=(...), which it reads of one, go together")
    protocol = protocol or (UpdateProtocol() if tensors else Protocol())
    if isinstance(protocol, UpdateProtocol) != bool(tensors):
        raise UsageError(f"attack {name!r}: a protocol for updates is an UpdateProtocol, and only that")
    return _stamp(Info("attack", name, paper, tuple(sorted(sees)), protocol, on=_on(name, on), tensors=tuple(tensors)))


def defense(name: str, *, paper: str = "") -> Callable[[T], T]:
    """A class whose `release` turns vectors and labels into a Release and its Key; its fields are its options."""
    return _stamp(Info("defense", name, paper))


def dataset(
    name: str,
    *,
    paper: str = "",
    public: str = "",
    metrics: tuple[str, ...] = ("accuracy",),
    on: Collection[str] = ("text",),
) -> Callable[[T], T]:
    """`public` names the data set whose `public` split stands in for the public corpus by default.

    `on=("images",)` for pictures.
    `metrics` are what the task is judged by when a model is trained on it: accuracy, f1, mcc, pearson, spearman.
    """
    return _stamp(Info("dataset", name, paper, public=public, metrics=metrics, on=_on(name, on)))


def encoder(name: str, *, paper: str = "", on: Collection[str] = ("text",)) -> Callable[[T], T]:
    """`on=("images",)` if `encode` takes pictures; `weights(picture)` if it is trained, so that gradients exist."""
    return _stamp(Info("encoder", name, paper, on=_on(name, on)))


def _on(name: str, words: Collection[str]) -> tuple[str, ...]:
    for word in words:
        if word not in ON:
            raise unknown(f"word in on of {name!r}:", word, ON)
    return tuple(words)


def info(plugin: Any) -> Info:
    """The stamp of a plugin class or instance."""
    stamped = plugin.__plugin__
    assert isinstance(stamped, Info)
    return stamped
