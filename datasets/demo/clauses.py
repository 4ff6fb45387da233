"""Clauses of the demo grammar that say something good or bad.

Every rule takes the sentiment that its clause must express (1 positive, 0 negative) and chooses words,
negation and embedding so that it does: under a negation the words are drawn from the other side.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.datasets.demo.faults import Part, Phrase
from bench.datasets.demo.phrases import Phrases
from bench.datasets.demo.verbs import NounPhrase
from bench.datasets.demo.words import (
    CASES,
    CHEERS,
    DEGREES,
    EXPERIENCES,
    FEELINGS,
    FORTUNES,
    GERUND_VERBS,
    JUDGEMENTS,
    LINKS,
    MOODS,
    SELF_TALK,
    comparative,
    forms,
    plural,
)

__all__ = ["ANYONE", "Clauses", "Rule"]

Rule = Callable[[int, int], Phrase]  # sentiment, depth of embedding allowed
ANYONE = NounPhrase("", "", "it")


class Clauses(Phrases):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.simples: tuple[Rule, ...] = (
            self.is_good, self.is_good, self.aside, self.feels, self.feels, self.moves, self.moves,
            self.handles, self.has_good, self.has_good, self.exists, self.cleft, self.mood_about, self.judges,
            self.gerund, self.fails, self.itself, self.compares, self.so_that, self.nobody, self.too,
            self.pair,
        )  # fmt: skip

    def adjective(self, mood: int) -> str:
        return self.pick(self.topic.good if mood else self.topic.bad)

    def act(self, mood: int) -> str:
        return self.pick(self.topic.mend if mood else self.topic.spoil)

    def flip(self, mood: int, share: float = 0.22) -> tuple[int, str]:
        """The sentiment of the words, and the negation that turns it into the wanted one.

        At most one in a sentence: a second one is hard to follow.
        """
        if "not" in self.used or not self.chance(share):
            return mood, ""
        self.used.append("not")
        return 1 - mood, self.pick(("not", "not", "never"))

    # Clauses

    def is_good(self, mood: int, depth: int) -> Phrase:
        mood, negation = self.flip(mood)
        subject = self.thing(depth, counted=not negation)
        link, tense = self.pick(LINKS), self.tense("past", "past", "past", "present")
        if link != "be" and negation == "never":
            negation = "not"
        degree = self.pick(DEGREES) if not negation and self.chance(0.35) else ""
        quality = Phrase(degree, self.adjective(mood))
        if not negation and self.chance(0.15):
            quality = Phrase(quality, "and", self.adjective(mood)) if not degree else quality
        verb = self.predicate(link, subject, tense, negation)
        if depth > 1 and link == "be":  # in a second conjunct this would be gapping, which is fine
            verb = Phrase(verb, faults=(("missing verb", negation),))
        return Phrase(subject.phrase, verb, quality, self.when(tense, 0.1))

    def aside(self, mood: int, depth: int) -> Phrase:
        subject = self.nominal("the", "", self.fresh(self.topic.nouns), "it")
        doer = self.person(0, counted=False)
        verb = self.predicate(self.fresh(self.topic.verbs), doer, "past")
        which = Phrase("which", faults=(("relative pronoun", "that"),))
        link = self.predicate(self.pick(LINKS), subject, "past")
        return Phrase(
            subject.phrase,
            ",",
            which,
            doer.phrase,
            verb,
            self.when("past", 0.3),
            ",",
            link,
            self.adjective(mood),
        )

    def feels(self, mood: int, depth: int) -> Phrase:
        mood, negation = self.flip(mood)
        tense = self.tense("past", "past", "past", "past", "present", "present", "perfect", "future")
        subject = self.person(depth, counted=not negation)
        target = self.thing(depth, counted=not negation)
        return self.active(subject, self.pick(FEELINGS[mood]), target, tense, negation, self.when(tense, 0.15))

    def moves(self, mood: int, depth: int) -> Phrase:
        mood, negation = self.flip(mood)
        tense = self.tense("past", "past", "past", "past", "present", "present", "perfect", "future")
        cause = self.thing(depth, counted=not negation)
        person = self.person(0, counted=not negation)
        verb = self.pick(EXPERIENCES[mood])
        if self.chance(0.35):
            return self.passive(person, verb, cause, "past", negation)
        return self.active(cause, verb, person, tense, negation, self.when(tense, 0.12))

    def handles(self, mood: int, depth: int) -> Phrase:
        mood, negation = self.flip(mood, 0.1)
        doer, target = self.person(depth, counted=not negation), self.thing(depth, counted=not negation)
        tense = self.tense("past", "past", "past", "perfect", "future")
        if self.chance(0.4):
            return self.passive(target, self.act(mood), doer if self.chance(0.7) else None, tense, negation)
        place = self.pick(self.topic.places) if self.chance(0.2) else self.when(tense)
        return self.active(doer, self.act(mood), target, tense, negation, place)

    def has_good(self, mood: int, depth: int) -> Phrase:
        degree = self.pick(DEGREES) if self.chance(0.3) else ""
        target = self.thing(depth, counted=False, new=True, adjective=Phrase(degree, self.adjective(mood)))
        tense = self.tense("past", "past", "perfect", "future")
        if self.chance(0.25):
            doer = self.person(0)
            return self.passive(target, self.fresh(self.topic.verbs), doer, tense)
        return self.active(self.person(depth), self.fresh(self.topic.verbs), target, tense, tail=self.when(tense))

    def exists(self, mood: int, depth: int) -> Phrase:
        tense = self.tense("past", "present")
        if self.chance(0.5):
            what, side = self.pick((("something", mood), ("nothing", 1 - mood)))
            quality = self.adjective(side)
            pair = Phrase(what, quality, faults=(("word order", Phrase(quality, what)),))
            return Phrase("there", self.predicate("be", ANYONE, tense), pair, "about", self.thing(depth).object)
        who = "they" if self.chance(0.4) else "it"
        found = self.nominal(
            "several" if who == "they" else "a", self.adjective(mood), self.fresh(self.topic.nouns), who
        )
        return Phrase("there", self.predicate("be", found, tense), found.phrase, self.pick(self.topic.places))

    def cleft(self, mood: int, depth: int) -> Phrase:
        cause, person = self.thing(0, counted=False), self.person(0)
        verb = self.pick(EXPERIENCES[mood])
        if self.chance(0.5):
            link = self.predicate("be", ANYONE, "past")
            return Phrase("it", link, cause.phrase, "that", forms(verb).past, person.object)
        return Phrase("what", forms(verb).past, person.object, "was", cause.phrase)

    def mood_about(self, mood: int, depth: int) -> Phrase:
        mood, negation = self.flip(mood, 0.12)
        negation = negation and "not"
        person, feeling = self.person(depth, counted=not negation), self.pick(MOODS[mood])
        tense = self.tense("past", "past", "present")
        start = Phrase(person.phrase, self.predicate("be", person, tense, negation), feeling)
        if self.chance(0.55):
            that = Phrase("that", faults=(("complement", "for"),))
            return Phrase(start, that, self.event(depth, "past"))
        verb, target = self.fresh(self.topic.verbs), self.thing(depth - 1, counted=False)
        to = Phrase(f"to {verb}", faults=(("complement", self.pick((verb, f"to {forms(verb).ing}"))),))
        return Phrase(start, to, self.wanted(verb, target))

    def judges(self, mood: int, depth: int) -> Phrase:
        verdict, event = self.pick(JUDGEMENTS[mood]), self.event(depth, "past")
        link = self.predicate("be", ANYONE, self.tense("past", "present"))
        if depth > 1 and self.chance(0.5):  # under another "that", leaving this one out would be right
            whole = Phrase("that", event, link, verdict)
            return Phrase(whole, faults=(("missing complementizer", Phrase(event, link, verdict)),))
        return Phrase("it", link, verdict, Phrase("that", faults=(("complement", "to"),)), event)

    def luck(self, mood: int, depth: int) -> Phrase:
        return Phrase(self.pick(FORTUNES[mood]), ",", self.event(depth, self.tense("past", "past", "perfect")))

    def gerund(self, mood: int, depth: int) -> Phrase:
        verb, target = self.fresh(self.topic.verbs), self.thing(depth, counted=False)
        doing, task = forms(verb).ing, self.wanted(verb, target)
        if self.chance(0.3):
            person, effect = self.person(0), self.pick(EXPERIENCES[mood])
            tense = self.tense("past", "present")
            return Phrase(doing, task, self.predicate(effect, ANYONE, tense), self.wanted(effect, person))
        mood, negation = self.flip(mood)
        person = self.person(depth, counted=not negation)
        action = self.predicate(self.pick(GERUND_VERBS[mood]), person, self.tense("past", "present"), negation)
        return Phrase(person.phrase, action, Phrase(doing, faults=(("complement", verb),)), task)

    def fails(self, mood: int, depth: int) -> Phrase:
        """`fail` negates what follows it, and `never fail` asserts it."""
        matrix, negation, side = self.pick((
            ("fail", "", 1 - mood), ("fail", "never", mood), ("manage", "", mood), ("seem", "", mood),
            ("continue", "", mood), ("tend", "", mood), ("seem", "not", 1 - mood),
        ))  # fmt: skip
        cause, person = self.thing(depth, counted=not negation), self.person(0)
        tense, verb = self.tense("past", "past", "present"), self.pick(EXPERIENCES[side])
        wrong = forms(verb).ing if matrix != "continue" else verb
        to = Phrase(f"to {verb}", faults=(("complement", wrong),))
        return Phrase(cause.phrase, self.predicate(matrix, cause, tense, negation), to, self.wanted(verb, person))

    def itself(self, mood: int, depth: int) -> Phrase:
        person = self.person(depth)
        tense, own = self.tense("past", "past", "perfect"), CASES[person.who][3]
        # A doctor may be either, so only a known gender makes the wrong one an error.
        other = {"she": "himself", "he": "herself"}.get(person.who, "itself") if person.gendered else "itself"
        reflexive = Phrase(
            own, faults=(("reflexive", other), ("reflexive", "ourselves" if person.who != "we" else "myself"))
        )
        if self.chance(0.3):
            verb = self.pick(("surpass", "enjoy") if mood else ("embarrass", "disgrace"))
            return Phrase(person.phrase, self.predicate(verb, person, tense), reflexive, self.pick(self.topic.places))
        verb = self.pick(SELF_TALK[mood])
        task = self.act(mood)
        cause = Phrase(forms(task).ing, faults=(("complement", f"to {task}"),))
        action = self.predicate(verb, person, tense)
        return Phrase(person.phrase, action, reflexive, "for", cause, self.thing(0, counted=False).object)

    def compares(self, mood: int, depth: int) -> Phrase:
        first, second = self.thing(depth, counted=False), self.thing(0, counted=False)
        more = comparative(self.adjective(mood))
        if more:
            degree, wrong = more, more.replace("more", "most")
        else:
            degree = "better" if mood else "worse"
            wrong = f"more {degree}"
        than = Phrase("than", faults=(("comparison", "as"),))
        link = self.predicate("be", first, self.tense("past", "present"))
        much = self.pick(("", "", "much", "far"))
        return Phrase(first.phrase, link, much, Phrase(degree, faults=(("comparison", wrong),)), than, second.object)

    def so_that(self, mood: int, depth: int) -> Phrase:
        subject, person = self.thing(depth, counted=False), self.person(0)
        reaction = self.predicate(self.pick(CHEERS[mood]), person, "past")
        so = Phrase("so", faults=(("comparison", "more"),))
        return Phrase(
            subject.phrase,
            self.predicate("be", subject, "past"),
            so,
            self.adjective(mood),
            "that",
            person.phrase,
            reaction,
        )

    def nobody(self, mood: int, depth: int) -> Phrase:
        """A negative subject flips the sentiment and licenses `ever`; a universal one does neither."""
        role = plural(self.fresh(self.topic.people))
        if self.chance(0.35):
            subject, side = (
                self.pick(("everyone", "everybody", f"almost all {role}", "virtually everyone")),
                mood,
            )
            who = "they" if subject.endswith("s") else "it"
            head, ever = Phrase(subject), ""
        else:
            subject, side = (
                self.pick(("nobody", "no one", f"few {role}", f"hardly any {role}", f"none of the {role}")),
                1 - mood,
            )
            who = "they" if subject.endswith("s") else "it"
            ever = self.pick(("ever", "ever", ""))
            licensed = "most of the " + role if who == "they" else "somebody"
            head = Phrase(subject, faults=(("polarity item", licensed),) if ever else ())
        # "none of them has" and "none of them have" are both right.
        tense = "past" if subject.startswith("none") else self.tense("past", "perfect")
        verb, target = self.pick(FEELINGS[side]), self.thing(depth, counted=False)
        action = self.predicate(verb, NounPhrase("", "", who), tense, adverb=ever)
        return Phrase(head, action, self.wanted(verb, target))

    def too(self, mood: int, depth: int) -> Phrase:
        subject, verb = self.thing(depth, counted=False), self.fresh(self.topic.verbs)
        quality = self.adjective(mood)
        to = Phrase(f"to {verb}", faults=(("complement", forms(verb).ing), ("complement", f"to be {verb}")))
        measure = (
            Phrase(quality, "enough", faults=(("word order", Phrase("enough", quality)),))
            if mood
            else Phrase("too", quality, faults=(("word order", Phrase(quality, "too")),))
        )
        return Phrase(subject.phrase, self.predicate("be", subject, self.tense("past", "present")), measure, to)

    def pair(self, mood: int, depth: int) -> Phrase:
        """Two verbs that share their subject."""
        person = self.person(depth, counted=False)
        tense = self.tense("past", "past", "present")
        halves: list[Part] = []
        for _ in range(2):
            verb, target = self.fresh(FEELINGS[mood]), self.thing(0, counted=False)
            halves += [self.predicate(verb, person, tense), target.object, "and"]
        halves[-2] = self.wanted(verb, target)  # the first may go: "loved and praised the soup"
        return Phrase(person.phrase, *halves[:-1])

    def simple(self, mood: int, depth: int = 1) -> Phrase:
        """One evaluative clause without another one inside."""
        return self.pick(self.simples)(mood, depth)
