"""The verbs of the demo grammar: agreement, tense, auxiliaries, negation, and errors in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from bench.datasets.demo.faults import Fault, Part, Phrase
from bench.datasets.demo.topics import TOPICS, can_stand_alone
from bench.datasets.demo.words import NO_OBJECT_NEEDED, TIMES, forms

__all__ = ["NounPhrase", "Verbs"]

T = TypeVar("T")


class NounPhrase(NamedTuple):
    phrase: Part
    object: Part
    who: str  # the pronoun that agrees with it: "they" for every plural, "it" for a single thing
    gendered: bool = False  # whether the wrong one of himself and herself would be an error


_WRONG = {
    "am": "are", "is": "are", "are": "is", "was": "were", "were": "was",
    "has": "have", "have": "has", "does": "do", "do": "does",
}  # fmt: skip


class Verbs:
    """Draws from `random.random()` alone, the one method whose sequence Python promises never to change."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random
        self.start()

    def start(self) -> None:
        """A new sentence: a new topic, and every word may be used again."""
        self.topic = self.pick(TOPICS)
        self.used: list[str] = []
        self.narrating = False

    def chance(self, share: float) -> bool:
        return self.random() < share

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def fresh(self, options: Sequence[str]) -> str:
        """A word this sentence has not used, if there is one: repeated nouns sound like a mistake."""
        for _ in range(8):
            word = self.pick(options)
            if word not in self.used:
                break
        self.used.append(word)
        return word

    def tense(self, *options: str) -> str:
        """One of the tenses; the past where a clause of time beside it is in the past."""
        return "past" if self.narrating else self.pick(options)

    def finite(
        self, verb: str, subject: NounPhrase, tense: str, negation: str = "", invert: bool = False
    ) -> tuple[Part, Part]:
        """Auxiliary and main verb: apart, because questions put the subject between them."""
        base, third, past, participle, ing = forms(verb)
        single = subject.who in ("she", "he", "it")
        bare = subject.who == "I"
        form = base
        slips: tuple[str, ...] = (past,)
        if tense == "future":
            aux = "will"
        elif tense == "perfect":
            aux, form, slips = "has" if single else "have", participle, (base, past)
        elif verb == "be" or tense == "progressive":
            if tense == "present":
                aux = "am" if bare else "is" if single else "are"
            else:
                aux = "was" if single or bare else "were"
            form, slips = ("", ()) if verb == "be" else (ing, (base,))
        elif negation == "not" or invert:
            aux = "did" if tense == "past" else "does" if single else "do"
        else:
            aux, form = "", past if tense == "past" else third if single else base
            slips = ()
        wrong: tuple[Fault, ...] = tuple(("verb form", slip) for slip in slips if slip != form)
        if not aux and tense == "past":
            wrong = (("verb form", Phrase("has" if single else "have", base)),) if base != past else ()
        elif not aux:
            wrong = (("agreement", base if single else third),)
        main: Part = Phrase(form, faults=wrong) if wrong else form
        if negation == "never":
            main = Phrase("never", main)
        short = negation == "not" and aux != "am" and self.chance(0.6)

        def whole(word: str) -> str:
            if short:
                return "won't" if word == "will" else f"{word}n't"
            return f"{word} not" if negation == "not" else word

        if not aux:
            return "", main
        return Phrase(whole(aux), faults=(("agreement", whole(_WRONG[aux])),) if aux in _WRONG else ()), main

    def predicate(self, verb: str, subject: NounPhrase, tense: str, negation: str = "", adverb: str = "") -> Phrase:
        aux, main = self.finite(verb, subject, tense, negation)
        wrong: tuple[Fault, ...] = ()
        if negation == "not" and verb != "be" and tense in ("past", "present"):
            wrong = (("negation", Phrase("not", forms(verb).past if tense == "past" else forms(verb).third)),)
        return Phrase(aux, adverb, main, faults=wrong)

    def wanted(self, verb: str, target: NounPhrase) -> Part:
        """The object of a verb: leaving it out is an error unless the verb can stand alone."""
        if verb in can_stand_alone or verb in NO_OBJECT_NEEDED:
            return target.object
        return Phrase(target.object, faults=(("missing argument", ""),))

    def when(self, tense: str, share: float = 0.2) -> Part:
        """A time that fits the tense; its fault is one that does not."""
        if tense not in TIMES or not self.chance(share):
            return ""
        clash = self.pick(TIMES["past" if tense != "past" else "future"])
        return Phrase(self.pick(TIMES[tense]), faults=(("tense", clash),))
