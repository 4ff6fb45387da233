"""The decoder: a small transformer that writes a sentence, word by word, from the vector of that sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench import Floats, Ints
from bench.attacks.invert.words import BEGIN, END, PAD, SPECIAL

PREFIX = 4
"""places before the first word that hold the vector"""


class Decoder(nn.Module):
    """Causal; the vector stands before the first word and is added to every one."""

    mean: Tensor
    spread: Tensor

    def __init__(self, dim: int, vocabulary: int, length: int, width: int = 192, layers: int = 3, heads: int = 4):
        super().__init__()
        self.length, self.width = length, width
        self.words = nn.Embedding(vocabulary, width)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.places = nn.Parameter(torch.zeros(PREFIX + length + 1, width))
        self.prefix = nn.Linear(dim, PREFIX * width)
        self.always = nn.Linear(dim, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        # Of the vectors it was trained on: deviations are better conditioned than values.
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("spread", torch.ones(dim))

    def draw(self, rng: torch.Generator) -> None:
        """First weights, from a generator of one's own."""
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                scale = 0.02 if name == "places" else parameter.shape[1] ** -0.5
                nn.init.normal_(parameter, std=scale, generator=rng)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def standard(self, vectors: Tensor) -> Tensor:
        return (vectors - self.mean) / self.spread

    def states(self, vectors: Tensor, words: Tensor) -> Tensor:
        """After BEGIN and after each of the words: rows × (words + 1) × width. `vectors` are standard ones."""
        rows = len(words)
        begin = torch.full((rows, 1), BEGIN, dtype=torch.long, device=words.device)
        inner = self.words(torch.cat([begin, words], dim=1)) + self.always(vectors)[:, None]
        hidden = torch.cat([self.prefix(vectors).view(rows, PREFIX, self.width), inner], dim=1)
        hidden = hidden + self.places[: hidden.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden)
        found: Tensor = self.norm(hidden[:, PREFIX:])
        return found

    def scores(self, states: Tensor, among: Tensor | None = None) -> Tensor:
        """Logits of all words, or of those `among`."""
        table, bias = (self.words.weight, self.bias) if among is None else (self.words.weight[among], self.bias[among])
        return F.linear(states, table, bias)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        rows, places, width = hidden.shape
        split = self.inputs(self.before(hidden)).view(rows, places, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.output(seen.transpose(1, 2).reshape(rows, places, width))
        found: Tensor = hidden + self.down(F.gelu(self.up(self.between(hidden))))
        return found


@torch.inference_mode()
def beams(decoder: Decoder, vectors: Floats, width: int) -> tuple[Ints, Floats]:
    """The `width` likeliest sentences of each vector: n × width × length word numbers, PAD to the right, and their
    mean log-likelihoods per word. Bounded by the caller: n · width sentences are held at once."""
    n, length = len(vectors), decoder.length
    given = decoder.standard(torch.as_tensor(np.array(vectors, dtype=np.float32)))
    every = given.repeat_interleave(width, dim=0)
    words = torch.full((n * width, 0), PAD, dtype=torch.long)
    total = torch.full((n, width), -torch.inf)
    total[:, 0] = 0.0  # all start alike: one of them is enough
    ended = torch.zeros(n, width, dtype=torch.bool)
    for _ in range(length):
        logits = F.log_softmax(decoder.scores(decoder.states(every, words)[:, -1]), dim=1).view(n, width, -1)
        logits[:, :, [PAD, BEGIN, SPECIAL - 1]] = -torch.inf
        # An ended sentence goes on with nothing, at no cost.
        logits[ended] = -torch.inf
        logits[..., PAD] = torch.where(ended, 0.0, logits[..., PAD])
        best, at = (total[..., None] + logits).view(n, -1).topk(width, dim=1)
        parent, word = at // logits.shape[2], at % logits.shape[2]
        rows = (parent + torch.arange(n)[:, None] * width).view(-1)
        words = torch.cat([words[rows], word.view(-1, 1)], dim=1)
        total, ended = best, ended.gather(1, parent) | (word == END)
        if ended.all():
            break
    found = words.view(n, width, -1)
    counts = (found != PAD).sum(dim=2).clamp(min=1)
    return _without_end(found).numpy(), (total / counts).numpy()


@torch.inference_mode()
def likelihoods(decoder: Decoder, vectors: Floats, sentences: Sequence[Sequence[int]]) -> Floats:
    """Log-likelihood of every word at every place, given the words before it: n × (longest + 1) × words."""
    words = np.full((len(sentences), max(map(len, sentences))), PAD, dtype=np.int64)
    for row, sentence in enumerate(sentences):
        words[row, : len(sentence)] = sentence
    given = decoder.standard(torch.as_tensor(np.array(vectors, dtype=np.float32)))
    found = F.log_softmax(decoder.scores(decoder.states(given, torch.as_tensor(words))), dim=2)
    found[..., :SPECIAL] = -torch.inf
    return found.numpy()


def _without_end(words: Tensor) -> Any:
    return torch.where(words == END, PAD, words)
