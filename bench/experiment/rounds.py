"""Sets the scene of a cell whose attack sees updates: the client's rounds of training, and what an eavesdropper has.

Nothing is encoded beforehand: the client computes its vectors in every round, and the attacker has texts, not vectors.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from bench.arrays import Floats
from bench.encoders import packed
from bench.encoders.packed import Architecture
from bench.errors import BenchError, UsageError
from bench.experiment import setup
from bench.experiment.setup import CellSetup
from bench.modalities import Progress
from bench.plugins.rounds import UpdateProtocol
from bench.plugins.training import Finetuned
from bench.scoring.truth import Batches, UpdateTruth
from bench.surfaces import Client
from bench.surfaces.pairs import LeakyClient
from bench.surfaces.updates import TrainingClient
from bench.system.seeds import generator
from bench.toolkit.corpus import Corpus
from bench.training import clients
from bench.training.clients import Masks
from bench.training.tokens import Tokens
from bench.training.updates import ClientRound, Holdings, RoundModel
from bench.types import Examples, Key, Release

if TYPE_CHECKING:
    from bench.experiment.cells import Cell
    from bench.experiment.trained import TrainedModel

PAIRS = 1000
"""of text and vector that an attack knows which sees pairs and has no option `known`"""


def scene(
    cell: Cell, *, device: str, progress: Progress, salt: str | None = None, model: TrainedModel | None = None
) -> CellSetup:
    """The scene of any cell."""
    build_scene = build if "updates" in cell.sees else setup.build
    return build_scene(cell, device=device, progress=progress, salt=salt, model=model)


def client_of(cell: Cell, found: CellSetup) -> Client:
    """The client, told which tensors of its updates the attack declares, or how many answers of its encoder are out."""
    client = found.client
    if isinstance(client, TrainingClient):
        return replace(client, wanted=cell.attack.info.tensors)
    return _leaky(cell, found) if "pairs" in cell.sees else client


def _leaky(cell: Cell, found: CellSetup) -> LeakyClient:
    """The client, of whose encoder's answers to public texts the attacker knows as many as the attack's option says."""
    if cell.attacker != "current":
        raise UsageError(f"{cell.attack.name} holds no encoder of the client's: leave out --attacker {cell.attacker}")
    known = getattr(cell.attack.plugin, "known", PAIRS)
    if not isinstance(known, int):
        raise UsageError(f"{cell.attack.name} sees pairs, and its option known has to be a whole number, not {known!r}")
    assert found.public is not None
    client = found.client
    facts = (client.seed, client.encoder, client.encoder_name, client.private, client.release, client.key)
    return LeakyClient(*facts, found.public, known)


def build(
    cell: Cell, *, device: str, progress: Progress, salt: str | None = None, model: TrainedModel | None = None
) -> CellSetup:
    """As bench.experiment.setup.build, for rounds of training."""
    protocol = setup.protocol_for(cell)
    assert isinstance(protocol, UpdateProtocol)
    data, fingerprint, start = setup.pool(cell)
    secret = (salt,) if salt else ()
    rng = generator(cell.seed, "private", fingerprint, protocol.drawn_by(), *secret)
    rows, candidates = setup.choose(data.texts, protocol, rng, start, setup.trained_on(cell))
    private = data.take(rows)
    corpus = _without_vectors([data.texts[i] for i in candidates], device, int((candidates < start).sum()))
    public = None if cell.public is None else setup.load(cell.public.plugin, "public")[0].texts
    progress("loading the model")
    words = (cell.defense.name, cell.defense.options, fingerprint, protocol.drawn_by(), *secret)
    made = client_round(cell, private, targets_of(data, private), public, protocol, words, device, model)
    n = len(private)
    # Which sentence stands where in its batch says nothing: one item for each sentence, its own.
    key = Key(np.arange(n), np.arange(n)[:, None], np.ones((n, 1), np.float32))
    nothing = np.zeros((n, made.architecture.dim), np.float32)
    release = Release(nothing, private.targets(), {})
    truth = UpdateTruth(private, nothing, key, corpus, data.labels[candidates], _batches(made))
    client = TrainingClient(cell.seed, cell.encoder.plugin, cell.encoder.name, private, release, key, made)
    shown = None if public is None else _without_vectors(public, device)
    return CellSetup(truth, client, corpus, shown, 0.0, _no_oracle)


def client_round(
    cell: Cell,
    private: Examples,
    targets: Floats,
    public: list[str] | None,
    protocol: UpdateProtocol,
    words: tuple[Any, ...],
    device: str,
    model: TrainedModel | None,
) -> ClientRound:
    encoder, held = (
        (model.encoder().plugin, model.encoder(cell.attacker).plugin) if model else [cell.encoder.plugin] * 2
    )
    if not hasattr(encoder, "folder"):
        raise UsageError(
            f"encoder {cell.encoder.name!r} has no folder of weights, so it has no updates: choose a transformer, "
            "such as minilm"
        )
    clients.check(getattr(cell.defense.plugin, "inner", cell.defense.plugin), cell.defense.name)
    architecture = Architecture.read(encoder.folder)
    how, options = protocol.how, model.options if model else Finetuned(dropout=protocol.how.dropout)
    rng = generator(cell.seed, "head", architecture.dim, targets.shape[1])
    weights, head = _weights(encoder, architecture)
    network = RoundModel(weights, architecture, options, targets.shape[1], rng, device)
    if head:
        network.restore({**network.snapshot(), **head})
    tokenizer = packed.tokenizer_of(encoder.folder)
    longest = min(encoder.max_length, architecture.positions)
    masks, notes = _masks(cell.defense.plugin, architecture.dim, protocol.batch, targets.shape[1], public, cell, words)
    mine = Holdings(
        cell.defense.plugin,
        cell.defense.name,
        masks,
        Tokens(tokenizer, private.texts, longest),
        targets,
        bool(private.classes),
        public if getattr(cell.defense.plugin, "public", "") else None,
        notes,
    )
    known, known_head = (weights, head) if held == encoder else _weights(held, architecture)
    known_head = known_head or {name: value.detach() for name, value in network.head.items()}
    return ClientRound(
        network, {**known, **known_head}, tokenizer, longest, mine, how, protocol.batch, cell.seed, words
    )


def _masks(
    defense: Any, dim: int, batch: int, outputs: int, public: list[str] | None, cell: Cell, words: tuple[Any, ...]
) -> tuple[Masks, dict[str, Any]]:
    """The client's masks, which last, and what the defense says of a release: from one of made-up vectors."""
    rng = generator(cell.seed, "masks", *words)
    made_up = rng.standard_normal((batch, dim), dtype=np.float32)
    shared = None if public is None else Corpus([""] * batch, made_up)
    try:
        release, key = defense.release(made_up, np.zeros((batch, outputs), np.float32), shared, rng)
    except UsageError as error:
        raise UsageError(f"in a batch of {batch}: {error}, or raise --batch") from error
    # What a defense of the representation promises, it promises of encodings; no ε of it holds for an update.
    notes = {name: value for name, value in release.notes.items() if name != "accounted"}
    notes |= defense.notes() if hasattr(defense, "altered") else {}
    return Masks(key.pool, key.one_time), notes


def _weights(encoder: Any, architecture: Architecture) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of an encoder, and of the head that was trained along with it."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    values = packed.load(encoder.folder, architecture)
    checkpoint = getattr(encoder, "checkpoint", "")
    if not checkpoint:
        return values, {}
    try:
        learnt = load_file(Path(checkpoint))
    except (OSError, SafetensorError) as error:
        raise BenchError(f"the checkpoint {checkpoint} cannot be read ({error}): run it again") from error
    head = {name: learnt.pop(name) for name in list(learnt) if name.startswith("head")}
    return {**values, **learnt}, head


def targets_of(data: Examples, private: Examples) -> Floats:
    """What the client trains on: scores of a regression as the training scales them."""
    if private.classes:
        return private.targets()
    scores = data.targets()
    found: Floats = (private.targets() - scores.mean()) / (scores.std() or 1.0)
    return found


def _batches(made: ClientRound) -> Batches:
    tokenizer = made.tokenizer

    def tokens(texts: list[str]) -> list[list[int]]:
        return Tokens(tokenizer, texts, made.max_length).ids if texts else []

    strangers = [tokens(made.public_texts(number, made.batch)) for number in range(len(made))]
    special = frozenset(tokenizer.all_special_ids)
    return Batches(made.batch, made.mine.tokens.ids, strangers, special, tokens, tokenizer.decode)


def _without_vectors(texts: list[str], device: str, known: int = 0) -> Corpus:
    return Corpus(texts, np.zeros((len(texts), 0), np.float32), device, known=known)


def _no_oracle(vectors: Floats) -> NoReturn:
    raise UsageError("there is no oracle where updates are seen: leave it out of sees")
