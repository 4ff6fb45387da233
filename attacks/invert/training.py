"""The decoder's training: public sentences, and pieces of them, with their vectors by the very encoder.

The trained decoder is stored by all that it depends on, and every cell with the same encoder, public corpus and options
reuses it. A training that was stopped goes on where it stopped; on one thread it gives the same weights either way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from bench import Floats, Ints, UsageError
from bench.attacks.invert.decoder import Decoder
from bench.attacks.invert.store import STORE, digest
from bench.attacks.invert.words import PAD, SPECIAL, UNKNOWN, Vocabulary, folds_case, spelled, words_of
from bench.system.files import atomic_write
from bench.system.paths import cache_dir
from bench.training import state
from bench.training.checkpoints import locked

VERSION = 1
"""of what is trained and how: another one, another decoder"""
CHUNK = 4096
"""pieces that are encoded between two writes"""
SAVED_S = 60.0
"""seconds between two writes of the state"""
BATCH, RATE, WARM = 128, 2e-3, 200
NOISE = 0.1
"""spread of what is added to vectors of unit spread: sentences near those it saw are to be read, too"""
HIDDEN = 0.15
"""share of the words before a word that the decoder is not shown, so that it looks at the vector"""
NEGATIVES = 1024
"""words besides those of a batch that a word is told from in a step"""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """All that is chosen about a decoder."""

    passes: int = 1
    """over all texts"""
    pieces: int = 1
    """of each public sentence, besides itself"""
    length: int = 24
    """words of a sentence, at most"""
    words: int = 20_000
    """in the vocabulary, at most"""
    width: int = 192
    layers: int = 3
    seed: int = 0


@dataclass(frozen=True)
class Trained:
    decoder: Decoder
    vocabulary: Vocabulary
    texts: list[str]
    vectors: Floats
    """of the texts it was trained on: public sentences and their pieces"""
    seconds: float
    """of training, without encoding"""


def obtain(encoder: Any, texts: Sequence[str], vectors: Floats, recipe: Recipe, progress: Progress) -> Trained:
    """The decoder of this encoder and public corpus: from the store, or trained now while others wait."""
    if not len(texts):
        raise UsageError("the public corpus is empty: there is nothing to train a decoder on; choose another --public")
    fold = folds_case(encoder)
    corpus = digest(vectors, texts)
    folder = cache_dir() / STORE / f"{corpus}-{digest(None, [VERSION, asdict(recipe), fold])}"
    with locked(folder, progress):
        vocabulary = Vocabulary.of(texts, fold, recipe.words)
        pieces = _pieces(texts, recipe, fold)
        every = [*texts, *pieces]
        # Kept apart: decoders of other recipes are trained on the same pieces.
        store = cache_dir() / STORE / f"{corpus}-pieces-{digest(None, pieces)}"
        known = np.concatenate([np.asarray(vectors), _encoded(encoder, pieces, store, vectors.shape[1], progress)])
        decoder = Decoder(known.shape[1], len(vocabulary), recipe.length, recipe.width, recipe.layers)
        found = state.read(folder / "decoder.safetensors")
        if found is None:
            seconds = _train(decoder, vocabulary, every, known, recipe, folder, progress)
            state.write(folder / "decoder.safetensors", decoder.state_dict(), {"seconds": seconds, **asdict(recipe)})
            (folder / state.STATE).unlink(missing_ok=True)
        else:
            decoder.load_state_dict(found[0])
            seconds = float(found[1].get("seconds", 0.0))
    return Trained(decoder.eval(), vocabulary, every, known, seconds)


def _pieces(texts: Sequence[str], recipe: Recipe, fold: bool) -> list[str]:
    """Runs of two to twelve words out of the sentences, some with "n't" written apart: the private texts may be
    phrases, and short."""
    rng = np.random.default_rng(recipe.seed)
    found: dict[str, None] = {}
    for _ in range(recipe.pieces):
        for text in texts:
            words = words_of(text, fold)
            size = int(rng.integers(2, 13))
            at = int(rng.integers(0, max(1, len(words) - size + 1)))
            some = words[at : at + size]
            if rng.random() < 0.3:
                some = _apart(some)
            if len(some) > 1:
                found[spelled(some)] = None
    known = set(texts)
    return [text for text in found if text not in known]


def _apart(words: list[str]) -> list[str]:
    """don't → do n't, as treebanks write it."""
    found: list[str] = []
    for at, word in enumerate(words):
        if words[at + 1 : at + 3] == ["'", "t"] and len(word) > 2 and word.endswith("n"):
            found += [word[:-1], "n"]
        else:
            found.append(word)
    return found


def _encoded(encoder: Any, texts: list[str], folder: Path, dim: int, progress: Progress) -> Floats:
    """Vectors of the pieces, kept chunk by chunk."""
    parts = [np.empty((0, dim), dtype=np.float32)]
    for at in range(0, len(texts), CHUNK):
        path = folder / f"pieces-{at}.npy"
        if not path.exists():
            progress(f"encoding pieces of public sentences, {at} of {len(texts)}")
            part = np.asarray(encoder.encode(texts[at : at + CHUNK]), dtype=np.float32)
            with atomic_write(path) as name, name.open("wb") as file:
                np.save(file, part)
        parts.append(np.load(path))
    return np.concatenate(parts)


def _train(
    decoder: Decoder,
    vocabulary: Vocabulary,
    texts: Sequence[str],
    vectors: Floats,
    recipe: Recipe,
    folder: Path,
    progress: Progress,
) -> float:
    """Train in place; seconds that it took, those of earlier runs included."""
    decoder.draw(torch.Generator().manual_seed(recipe.seed))
    decoder.mean.copy_(torch.as_tensor(vectors.mean(axis=0)))
    spread = vectors.std(axis=0)
    decoder.spread.copy_(torch.as_tensor(np.where(spread > 1e-5 * spread.max(initial=0.0), spread, 1.0)))
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    rows = vocabulary.rows(texts, recipe.length)
    told = _told(rows, len(vocabulary))
    per_pass = -(-len(rows) // BATCH)
    total = recipe.passes * per_pass
    warm = min(WARM, 1 + total // 10)
    step, loss, before = _resumed(decoder, optimizer, folder)
    began = saved = time.monotonic()
    while step < total:
        order = _order(rows, recipe.seed, step // per_pass)
        for some in order[step % per_pass :]:
            rng = np.random.default_rng([recipe.seed, step])
            rate = RATE * min((step + 1) / warm, 0.5 * (1 + np.cos(np.pi * step / total)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            now = _step(decoder, optimizer, rows[some], vectors[some], told, rng)
            loss = now if step == 0 else 0.99 * loss + 0.01 * now
            step += 1
            if time.monotonic() - saved > SAVED_S and step < total:
                saved = time.monotonic()
                _save(decoder, optimizer, folder, step, loss, before + saved - began)
            if step % 20 == 0:
                progress(f"training the decoder, step {step} of {total}, loss {loss:.2f}")
    return round(before + time.monotonic() - began, 1)


def _order(rows: Ints, seed: int, at: int) -> list[Ints]:
    """Batches of one pass: sentences of about equal length together, in random order."""
    rng = np.random.default_rng([seed, 1 << 20, at])
    lengths = (rows != PAD).sum(axis=1) + rng.random(len(rows))
    batches = np.array_split(np.argsort(lengths, kind="stable"), -(-len(rows) // BATCH))
    return [batches[i] for i in rng.permutation(len(batches))]


def _told(rows: Ints, size: int) -> Floats:
    """Log of the chance that each word is among those that a step tells words from."""
    rank, words = np.arange(size - SPECIAL), rows[rows >= SPECIAL]
    share = np.bincount(words, minlength=size)[SPECIAL:] / max(len(words), 1)
    drawn = np.log((rank + 2) / (rank + 1)) / np.log(size - SPECIAL + 1)
    per_batch = BATCH * len(words) / len(rows)
    missed = NEGATIVES * (np.log1p(-drawn.clip(max=0.999)) + np.log1p(-1 / (size - SPECIAL)))
    missed += per_batch * np.log1p(-share.clip(max=0.999))
    return np.concatenate([np.zeros(SPECIAL), np.log(-np.expm1(missed))]).astype(np.float32)


def _step(
    decoder: Decoder, optimizer: Any, rows: Ints, vectors: Floats, told: Floats, rng: np.random.Generator
) -> float:
    width = int((rows != PAD).sum(axis=1).max())
    wanted = rows[:, :width]
    shown = np.where(rng.random(wanted.shape) < HIDDEN, UNKNOWN, wanted)[:, :-1]
    given = decoder.standard(torch.as_tensor(np.array(vectors)))
    given = given + NOISE * torch.as_tensor(rng.standard_normal(given.shape, dtype=np.float32))
    states = decoder.states(given, torch.as_tensor(shown))
    counts = (wanted != PAD) & (wanted != UNKNOWN)
    # A word is told from those of the batch and from some drawn ones, not from the whole vocabulary: a fifth of the
    # time. Half of the drawn ones evenly in the logarithm of the rank, about as words are in texts. A word that is
    # seldom among them counts for more, or rare words would seem likely.
    size = decoder.words.num_embeddings - SPECIAL
    drawn = np.exp(rng.random(NEGATIVES) * np.log(size + 1)).astype(np.int64) - 1 + SPECIAL
    even = rng.integers(SPECIAL, SPECIAL + size, NEGATIVES)
    drawn = drawn.clip(max=SPECIAL + size - 1)
    among, place = np.unique(np.concatenate([wanted[counts], drawn, even]), return_inverse=True)
    logits = decoder.scores(states[torch.as_tensor(counts)], torch.as_tensor(among)) - torch.as_tensor(told[among])
    loss = F.cross_entropy(logits, torch.as_tensor(place[: int(counts.sum())]))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def _save(decoder: Decoder, optimizer: Any, folder: Path, step: int, loss: float, seconds: float) -> None:
    tensors = {f"model.{name}": value for name, value in decoder.state_dict().items()}
    for index, moments in optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value)
    state.write(folder / state.STATE, tensors, {"step": step, "loss": loss, "seconds": seconds})


def _resumed(decoder: Decoder, optimizer: Any, folder: Path) -> tuple[int, float, float]:
    """Step, loss and seconds of an earlier run, with model and optimiser as it left them; zeros if there is none."""
    found = state.read(folder / state.STATE)
    if found is None:
        return 0, 0.0, 0.0
    tensors, facts = found
    decoder.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
    moments: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, part = name.split(".")
            moments.setdefault(int(index), {})[part] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    return int(facts["step"]), float(facts["loss"]), float(facts["seconds"])
