"""From vectors to texts: what is learnt from public text, the sentences to start from, the edits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import Corpus, Floats, Ints, UsageError
from bench.attacks.invert import training
from bench.attacks.invert.bag import Bag, spread_of
from bench.attacks.invert.draft import draft
from bench.attacks.invert.edits import Proposals, polish
from bench.attacks.invert.judge import FLUENT, MET, Judge, Target, Words
from bench.attacks.invert.ngrams import Neighbours
from bench.attacks.invert.unseen import effects, own_words
from bench.attacks.invert.words import SPECIAL, Vocabulary, folds_case
from bench.toolkit.search import nearest

if TYPE_CHECKING:
    from bench.attacks.invert import Invert

VOCABULARY, DECODED = 40_000, 20_000
"""words, at most; a decoder learns fewer"""
SENTENCES = 64
"""that are worked on side by side: their candidates take some hundred MiB"""
GUESSED = (2, 4, 7, 10)
"""likeliest words that are a start, too: the nearest public sentence may be far away"""


class Inverter:
    """Fitted to an encoder and a public corpus with its vectors."""

    def __init__(
        self,
        options: Invert,
        encoder: Any,
        public: Corpus,
        stage: Callable[[str], None],
        trust: Floats | None = None,
    ):
        """`trust`: what each coordinate of the vectors counts, where not all are known alike."""
        self.options, self.stage = options, stage
        texts, vectors = public.texts, np.asarray(public.vectors)
        if not texts:
            raise UsageError(
                "the public corpus is empty: there is nothing to learn words from; choose another --public"
            )
        self.encoder, self.dim = encoder, vectors.shape[1]
        self._check_encoder()
        self.seconds = 0.0
        self.trained: training.Trained | None = None
        if options.method in ("decoder", "both"):
            recipe = training.Recipe(passes=options.passes, length=options.length, words=DECODED)
            self.trained = training.obtain(self.encoder, texts, vectors, recipe, stage)
            self.seconds = self.trained.seconds
            self.vocabulary = self.trained.vocabulary
            texts, vectors = self.trained.texts, self.trained.vectors
        else:
            fold = folds_case(self.encoder)
            self.vocabulary = Vocabulary.of(texts, fold, VOCABULARY)
            if options.unseen:
                self.vocabulary = self.vocabulary.widened(own_words(self.encoder, fold))
        stage("learning which words vectors have")
        self.public, self.vectors = texts, vectors
        self.draft = draft(self.encoder, texts, vectors, spread_of(vectors)) if options.half else None
        rare = self._rare() if options.unseen and not self.trained else None
        self.bag = Bag(self.vocabulary, texts, vectors, rare, trust)
        self.standard = self.bag.standard(vectors)
        self.neighbours = Neighbours(self.vocabulary, texts)
        self.proposals = Proposals(self.bag, self.neighbours, self._following())

    def _rare(self) -> Callable[[Ints], Floats]:
        encode, how = (self.encoder.encode, "whole") if self.draft is None else (self.draft.encode, "half")
        return lambda few: effects(encode, how, self.vocabulary, few, self.public, self.vectors, self.stage)

    def _check_encoder(self) -> None:
        try:
            width = np.asarray(self.encoder.encode(["A sentence."])).shape[1]
        except Exception as error:
            raise UsageError(f"the encoder cannot be called ({type(error).__name__}: {error})") from error
        if width != self.dim:
            raise UsageError(f"the encoder's vectors have {width} dimensions, those of the public corpus {self.dim}")

    def texts(self, vectors: Floats) -> tuple[list[str], dict[str, Any]]:
        """A text for each vector, and what it took."""
        vectors = np.asarray(vectors, dtype=np.float32)
        if vectors.shape[1] != self.dim:
            raise UsageError(f"vectors of {vectors.shape[1]} dimensions cannot be read: the decoder's have {self.dim}")
        began, busy = time.perf_counter(), time.process_time()
        targets = [Target(vector) for vector in self.bag.standard(vectors)]
        judge = Judge(
            self.encoder,
            self.vocabulary,
            self.bag,
            self.neighbours,
            self.options.keep,
            self.draft and self.draft.encode,  # type: ignore[arg-type]  # a draft is never false
        )
        for at in range(0, len(targets), SENTENCES):
            self._write(
                targets[at : at + SENTENCES], vectors[at : at + SENTENCES], judge, f"{at} of {len(targets)} done"
            )
        found = [self.vocabulary.text(target.best[0]) if target.best else "" for target in targets]
        cosines = [target.known[target.best[0]] for target in targets if target.best]
        details = {
            "seconds per sentence": round((time.perf_counter() - began) / max(len(targets), 1), 3),
            "processor seconds per sentence": round((time.process_time() - busy) / max(len(targets), 1), 3),
            "encoder calls per sentence": round(judge.asked / max(len(targets), 1), 1),
            "in half precision, per sentence": round(judge.drafted / max(len(targets), 1), 1),
            "met": round(float(np.mean([target.met for target in targets])), 4),
            "cosine": round(float(np.mean(cosines)), 4) if cosines else 0.0,
            "as long as allowed": sum(bool(t.best) and len(t.best[0]) >= self.options.length for t in targets),
            "training seconds": self.seconds,
            "met at": MET,
        }
        return found, details

    def _write(self, targets: list[Target], vectors: Floats, judge: Judge, done: str) -> None:
        options = self.options
        starts = [[] for _ in targets] if options.method == "decoder" else self._nearest(targets)
        if self.trained is not None:
            self.stage(f"decoding, {done}")
            for some, more in zip(starts, self._decoded(vectors), strict=True):
                some += more
        judge.look(targets, starts)
        if options.method in ("search", "both"):
            for weight in FLUENT:
                judge.fluent = weight
                for target in targets:
                    target.tried.clear()
                    judge.rank(target)
                polish(
                    targets,
                    judge,
                    self.proposals,
                    rounds=options.rounds,
                    moves=options.moves,
                    length=options.length,
                    joint=options.joint,
                    progress=lambda text: self.stage(f"{text}, {done}"),
                )
        # The encoder has the last word on those that are left.
        judge.ask([(t, words) for t in targets if not t.met for words in t.best if words not in t.asked])

    def _nearest(self, targets: list[Target]) -> list[list[Words]]:
        """Of the nearest public sentences what the vocabulary has, and of the likeliest words a few."""
        wanted = np.stack([target.vector for target in targets])
        count = 1 if self.options.method == "nearest" else self.options.starts
        rows = nearest(wanted, self.standard, count)
        found = [[self._words(self.public[row]) for row in some] for some in rows]
        if count > 1:
            likely = np.argsort(-self.bag.presence(wanted), axis=1)[:, : max(GUESSED)]
            for some, words in zip(found, likely, strict=True):
                some += [tuple(map(int, words[: min(n, self.options.length)])) for n in GUESSED]
        return found

    def _words(self, text: str) -> Words:
        return tuple(i for i in self.vocabulary.numbers(text) if i >= SPECIAL)[: self.options.length]

    def _decoded(self, vectors: Floats) -> list[list[Words]]:
        from bench.attacks.invert.decoder import beams

        assert self.trained is not None
        rows, _ = beams(self.trained.decoder, vectors, self.options.starts)
        return [[tuple(int(i) for i in one if i >= SPECIAL) for one in some] for some in rows]

    def _following(self) -> Any:
        """Log-likelihoods of words by the decoder, where there is one."""
        if self.trained is None:
            return None
        from bench.attacks.invert.decoder import likelihoods

        decoder, bag = self.trained.decoder, self.bag
        return lambda standard, states: likelihoods(decoder, standard * bag.spread + bag.mean, states)
