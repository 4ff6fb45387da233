"""What is to be run: cells, from names and options, which are checked here, first of all."""

from __future__ import annotations

import dataclasses
import itertools
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.errors import UsageError, unknown
from bench.plugins.decorators import Info, info
from bench.plugins.options import split
from bench.plugins.protocol import Protocol
from bench.plugins.registry import Entry, Registry
from bench.plugins.rounds import sized
from bench.plugins.training import ATTACKERS, Attacker, Finetuned, parse

AXES = ("dataset", "encoder", "training", "defense", "attack", "seed")
SIZES = ("examples", "epochs", "candidates", "coverage", "split", "batch", "update", "public", "attacker")
# A defense's `public` option that leaves the choice to the data set.
AUTO = "auto"
DEFAULTS: dict[str, list[Any]] = {"dataset": ["demo"], "encoder": ["minilm"], "training": ["frozen"], "seed": [0]}


@dataclass(frozen=True)
class Chosen:
    """A plugin with its options."""

    entry: Entry
    plugin: Any

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def info(self) -> Info:
        return info(self.plugin)

    @property
    def options(self) -> dict[str, Any]:
        """An option that the plugin calls a `later` one counts only where it is not at its default: a record that was
        made before there was such an option keeps its id."""
        found = dataclasses.asdict(self.plugin)
        defaults = {f.name: f.default for f in dataclasses.fields(self.plugin)}
        silent = [name for name in getattr(self.plugin, "later", ()) if found[name] == defaults[name]]
        return {name: value for name, value in found.items() if name not in silent}

    @property
    def label(self) -> str:
        """The name with the options that differ from their defaults, as one would type it."""
        changed = [
            f"{f.name}={value}"
            for f in dataclasses.fields(self.plugin)
            if (value := getattr(self.plugin, f.name)) != f.default
        ]
        return f"{self.name}:{','.join(changed)}" if changed else self.name

    def reference(self) -> dict[str, Any]:
        """Enough for another process to make the same plugin."""
        entry = self.entry
        return {
            "kind": entry.kind,
            "name": entry.name,
            "module": entry.module,
            "cls": entry.cls,
            "options": self.options,
        }


@dataclass(frozen=True)
class Trial:
    """A defense on data: what utility is measured on, and what an attack makes a cell of."""

    dataset: Chosen
    encoder: Chosen
    defense: Chosen
    seed: int
    public: Chosen | None
    suite: tuple[str, int] | None = field(default=None, kw_only=True)
    """the suite that names it, and its version"""
    training: Finetuned | None = field(default=None, kw_only=True)
    """how the encoder is trained through the defense; None: it is frozen"""

    @property
    def model(self) -> str:
        """The encoder and how it was trained."""
        return f"{self.encoder.label} {self.training.label}" if self.training else self.encoder.label

    @property
    def title(self) -> str:
        return f"{self.dataset.label} {self.model} {self.defense.label} seed {self.seed}"


@dataclass(frozen=True)
class Cell(Trial):
    """The unit of work, of caching and of failure."""

    attack: Chosen
    protocol: Protocol
    fixed_size: bool = False
    """the user asked for this number of examples, so it is not to be trimmed to the data"""
    sealed: bool = False
    """the attack is not trusted: it runs in a sandbox, on a key drawn with a salt that nobody knows"""
    samples: int = 0
    """questions whose answers are kept in the record, as the suite asks"""
    answers: bool = False
    """wrong answers are kept as text, too"""
    attacker: Attacker = "current"
    """which weights of a trained encoder the attacker holds"""

    @property
    def title(self) -> str:
        holds = f" ({self.attacker} encoder)" if self.attacker != "current" else ""
        return f"{self.dataset.label} {self.model} {self.defense.label} × {self.attack.label}{holds} seed {self.seed}"

    @property
    def trial(self) -> Trial:
        """What its utility is measured on; a public corpus that only the attack wants has no part in it."""
        mixed_in = getattr(self.defense.plugin, "public", "")
        public = self.public if mixed_in else None
        return Trial(
            self.dataset, self.encoder, self.defense, self.seed, public, suite=self.suite, training=self.training
        )

    @property
    def sees(self) -> tuple[str, ...]:
        """What the attack declares, less the corpus of examples to name where there are none: images, unless what is
        hidden are their pixels, which can be compared with those of other images."""
        from bench import modalities

        (modality,) = self.dataset.info.on
        nameable = modalities.get(modality).nameable or hasattr(self.encoder.plugin, "decode")
        return tuple(word for word in self.attack.info.sees if word != "corpus" or nameable)


def cells(
    registry: Registry, axes: Mapping[str, Sequence[Any] | None], sizes: Mapping[str, Any], *, sealed: bool = False
) -> list[Cell]:
    """The product of the axes, in the order in which neighbours share most work."""
    chosen = _chosen(registry, axes, ("dataset", "encoder", "defense", "attack"), sealed)
    given = {name: value for name, value in sizes.items() if value is not None}
    public_name = given.pop("public", "")
    attacker = _attacker(given.pop("attacker", "current"), trainings(axes))
    found = []
    for dataset, encoder, training, seed, defense, attack in itertools.product(
        chosen["dataset"], chosen["encoder"], trainings(axes), _seeds(axes), chosen["defense"], chosen["attack"]
    ):
        _check_kind(dataset, encoder, attack)
        _check_training(dataset, training)
        protocol = sized(attack.info.protocol, given)
        public = _public(registry, dataset, defense, attack, public_name)
        cell = Cell(dataset, encoder, defense, seed, public, attack, protocol, "examples" in given, sealed)
        found.append(dataclasses.replace(cell, training=training, attacker=attacker if training else "current"))
    return found


def trainings(axes: Mapping[str, Sequence[Any] | None]) -> list[Finetuned | None]:
    """How encoders are trained, as `--training` says it."""
    return [parse(spec) for spec in axes.get("training") or DEFAULTS["training"]]


def _attacker(word: Any, chosen: Sequence[Finetuned | None]) -> Attacker:
    if word not in ATTACKERS:
        raise unknown("attacker", str(word), ATTACKERS)
    if word != "current" and not any(chosen):
        raise UsageError(f"--attacker {word} is for a trained encoder: give --training finetuned, or leave it out")
    found: Attacker = word
    return found


def _check_training(dataset: Chosen, training: Finetuned | None) -> None:
    if training and "text" not in dataset.info.on:
        raise UsageError(
            f"--training finetuned trains encoders of text, and data set {dataset.name!r} holds "
            f"{dataset.info.on[0]}: leave it out"
        )


def _check_kind(dataset: Chosen, *users: Chosen) -> None:
    """Pictures go to what takes pictures, text to what takes text; said before anything is loaded."""
    (kind,) = dataset.info.on
    for user in users:
        if kind not in user.info.on:
            raise UsageError(
                f"data set {dataset.name!r} holds {kind}, and {user.entry.kind} {user.name!r} works on "
                f"{' and '.join(user.info.on)}: choose another (bench list {user.entry.kind}s), or another data set"
            )


def trials(registry: Registry, axes: Mapping[str, Sequence[Any] | None], *, public: str = "") -> list[Trial]:
    """Defenses without an attack, for measuring utility. `public` names the public corpus, where a defense wants one
    and leaves the choice open."""
    chosen = _chosen(registry, axes, ("dataset", "encoder", "defense"))
    for dataset, encoder, training in itertools.product(chosen["dataset"], chosen["encoder"], trainings(axes)):
        _check_kind(dataset, encoder)
        _check_training(dataset, training)
    return [
        Trial(dataset, encoder, defense, seed, _public(registry, dataset, defense, None, public), training=training)
        for dataset, encoder, training, defense, seed in itertools.product(
            chosen["dataset"], chosen["encoder"], trainings(axes), chosen["defense"], _seeds(axes)
        )
    ]


def _chosen(
    registry: Registry, axes: Mapping[str, Sequence[Any] | None], kinds: Sequence[str], sealed: bool = False
) -> dict[str, list[Chosen]]:
    for kind in kinds:
        if not axes.get(kind) and kind not in DEFAULTS:
            raise UsageError(f"name at least one {kind} (--{kind} NAME; bench list {kind}s shows them)")
    specs = {kind: [_full_name(kind, spec, registry) for spec in axes.get(kind) or DEFAULTS[kind]] for kind in kinds}
    for kind, some in specs.items():
        for spec in some:  # all names before any plugin is imported: a typo is answered at once
            registry.get(kind, split(spec)[0])
    return {
        kind: [choose(registry, kind, spec, untrusted=sealed and kind == "attack") for spec in some]
        for kind, some in specs.items()
    }


def _seeds(axes: Mapping[str, Sequence[Any] | None]) -> list[int]:
    found: list[int] = []
    for seed in axes.get("seed") or DEFAULTS["seed"]:
        try:
            found.append(operator.index(seed))
        except TypeError:
            raise UsageError(f"seed {seed!r}: a whole number was expected") from None
    return found


def _full_name(kind: str, spec: str, registry: Registry) -> str:
    """An encoder may be given as a hub id or a folder, as it is; two defenses as one, joined by a plus."""
    if kind == "defense":
        inner, outer = _joined_defenses(spec, registry)
        if outer and _joined_defenses(inner, registry)[1]:
            raise UsageError(f"{spec!r}: one defense of the representation and one of updates can be joined")
        if outer:
            name, _, options = inner.partition(":")
            of = "/".join([name, *(options.split(",") if options else [])])
            return f"{outer}{',' if ':' in outer else ':'}of={of}"
    bare = kind == "encoder" and not spec.startswith("hub:") and ("/" in spec or os.path.isdir(spec))
    if not bare:
        return spec
    return f"hub:{os.path.abspath(spec)}" if os.path.isdir(spec) else f"hub:{spec}"


def _joined_defenses(spec: str, registry: Registry) -> tuple[str, str]:
    """What stands before and after the plus between a defense of the representation and one of updates.

    An exponent or an option's value may have a plus, too: the one that counts has a defense's name behind it.
    """
    at = spec.rfind("+")
    while at > 0:
        if spec[at + 1 :].partition(":")[0] in registry.of("defense"):
            return spec[:at], spec[at + 1 :]
        at = spec.rfind("+", 0, at)
    if "+" in spec.partition(":")[0]:  # no name has a plus, so that one of the two is mistyped
        for name in spec.partition(":")[0].split("+"):
            registry.get("defense", name)
    return spec, ""


def choose(registry: Registry, kind: str, spec: str, untrusted: bool = False) -> Chosen:
    """The plugin that `name:option=value` asks for. The code of an `untrusted` one is not so much as imported here."""
    name, _ = split(spec)
    if untrusted:
        from bench.isolation.untrusted import load_declaration

        return Chosen(registry.get(kind, name), load_declaration(registry, kind, spec))
    return Chosen(registry.get(kind, name), registry.make(kind, spec))


def _public(
    registry: Registry, dataset: Chosen, defense: Chosen, attack: Chosen | None, named: str = ""
) -> Chosen | None:
    """The public corpus: the one the defense mixes in, else the one named or the data set's own, if one is wanted."""
    asked = getattr(defense.plugin, "public", "")
    if asked and asked != AUTO:
        return _same_kind(dataset, choose(registry, "dataset", asked))
    wanting = defense if asked else attack
    if wanting is None or (wanting is attack and not {"public", "pairs"} & set(wanting.info.sees)):
        return None
    name = named or dataset.info.public
    if not name:
        raise UsageError(
            f"{wanting.entry.kind} {wanting.name!r} needs a public corpus, and data set {dataset.name!r} names none: "
            "choose one with --public NAME, such as demo or file:PATH"
        )
    return dataset if name == dataset.name else _same_kind(dataset, choose(registry, "dataset", name))


def _same_kind(dataset: Chosen, public: Chosen) -> Chosen:
    """What is mixed in has to be of the kind that it is mixed with."""
    if dataset.info.on != public.info.on:
        raise UsageError(
            f"data set {dataset.name!r} holds {dataset.info.on[0]}, and public data set {public.name!r} holds "
            f"{public.info.on[0]}, which cannot be mixed: choose another with --public"
        )
    return public
