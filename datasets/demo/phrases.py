"""Phrases of the demo grammar that say nothing good or bad: noun phrases and plain events."""

from __future__ import annotations

from bench.datasets.demo.faults import Fault, Part, Phrase
from bench.datasets.demo.topics import can_stand_alone
from bench.datasets.demo.verbs import NounPhrase, Verbs
from bench.datasets.demo.words import (
    CASES,
    CITIES,
    COUNTS,
    INTRANSITIVE,
    KIN,
    MANNERS,
    MEN,
    NO_OBJECT_NEEDED,
    SINGULARS,
    TIMES,
    WOMEN,
    forms,
    plural,
)

__all__ = ["Phrases"]


class Phrases(Verbs):
    # Noun phrases

    def pronoun(self, who: str) -> NounPhrase:
        other = CASES[who][0]
        if other == who:
            return NounPhrase(who, who, who)
        return NounPhrase(
            Phrase(who, faults=(("case", other),)),
            Phrase(other, faults=(("case", who),)),
            who,
            who in ("she", "he"),
        )

    def name(self) -> NounPhrase:
        woman = self.chance(0.5)
        name = self.fresh(WOMEN if woman else MEN)
        return NounPhrase(name, name, "she" if woman else "he", True)

    def nominal(
        self, det: str, adjective: Part, noun: str, who: str, after: Part = "", needy: bool = True
    ) -> NounPhrase:
        """`needy` counts a missing determiner as an error; a role without one could be a surname."""
        many = who == "they"
        word: Part = plural(noun) if many or det == "one of the" else noun
        bare = noun in can_stand_alone
        if det in SINGULARS or det == "a":
            word = Phrase(word, faults=(("number", plural(noun)),))
        elif (det in COUNTS and not bare) or det == "one of the":
            word = Phrase(word, faults=(("number", noun),))
        wrong: tuple[Fault, ...] = ()
        if det not in COUNTS or det in ("these", "those"):
            extra = "the" if det not in ("the", "one of the") else self.pick(("my", "this", "every"))
            wrong += (("determiner", f"{extra} {det}"),)
            if needy and not many and not bare and det != "one of the":
                wrong += (("determiner", ""),)
        first = Phrase(det, faults=wrong)
        # Not after "all", which may float: the chefs all left.
        order: tuple[Fault, ...] = (("determiner", Phrase(adjective, word, det, after)),) if det != "all" else ()
        core = Phrase(first, adjective, word, after, faults=order)
        return NounPhrase(core, core, who)

    def owner(self) -> str:
        return self.pick(("my", "our", "her", "his", "their")) if self.chance(0.6) else f"{self.pick(WOMEN + MEN)}'s"

    def thing(
        self,
        depth: int = 1,
        counted: bool = True,
        new: bool = False,
        adjective: Part = "",
        needy: bool = True,
    ) -> NounPhrase:
        """A noun of the topic. `counted` admits quantifiers, ambiguous under negation; `new` admits `a`."""
        noun = self.fresh(self.topic.nouns)
        dice = self.random()
        who, open_ended = "it", True
        if new and dice < 0.4:
            det = "a"
        elif dice < 0.5:
            det = "the"
        elif dice < 0.6:
            det, open_ended = self.owner(), False
        elif dice < 0.7:
            det = self.pick(SINGULARS) if counted else self.pick(("this", "that"))
        elif dice < 0.73 and counted:
            det, open_ended = "one of the", not adjective
        else:
            who = "they"
            det = (
                self.pick(COUNTS)
                if counted and self.chance(0.6)
                else self.pick(("the", "the", "these", "those", "our"))
            )
        after: Part = ""
        if not adjective and self.chance(0.3):
            adjective = self.pick(self.topic.plain)
        if depth > 0 and open_ended and self.chance(0.3):
            after = self.which(who, depth - 1)
        elif depth > 0 and self.chance(0.12):
            after = self.pick(self.topic.places)
        return self.nominal(det, adjective, noun, who, after, needy)

    def which(self, who: str, depth: int) -> Phrase:
        """A relative clause whose gap is its object."""
        relative = self.pick(("that", "that", "which", ""))
        doer = self.person(depth, counted=False)
        tense = self.pick(("past", "past", "past", "perfect"))
        verb = self.predicate(self.fresh(self.topic.verbs), doer, tense)
        tail = self.pick(TIMES["past"]) if tense == "past" and self.chance(0.2) else ""
        wrong = Phrase(relative, doer.phrase, verb, CASES[who][0], tail)
        return Phrase(relative, doer.phrase, verb, tail, faults=(("resumptive", wrong),))

    def person(self, depth: int = 1, counted: bool = True) -> NounPhrase:
        dice = self.random()
        if dice < 0.3:
            return self.name()
        if dice < 0.42:
            return self.pronoun(self.pick(("she", "he", "they", "we", "I")))
        if dice < 0.54:
            kin = self.fresh(tuple(KIN))
            who = KIN[kin] or self.pick(("she", "he"))
            person = self.nominal(self.owner(), "", kin, who, needy=False)
            return person._replace(gendered=bool(KIN[kin]))
        if dice < 0.6:
            first, second = self.name(), self.name()
            both = Phrase(first.phrase, "and", second.phrase)
            return NounPhrase(both, both, "they")
        role = self.fresh(self.topic.people)
        many = self.chance(0.4)
        if many:
            det = (
                self.pick(COUNTS) if counted and self.chance(0.5) else self.pick(("the", "the", "the", "those", "some"))
            )
        else:
            det = (
                self.pick(("the", "the", "a", "every")) if counted else self.pick(("the", "the", "the", "this", "our"))
            )
        who = "they" if many else self.pick(("she", "he"))
        after: Part = ""
        if depth > 0 and det != "our" and self.chance(0.25):
            head = NounPhrase("", "", who)
            verb = self.predicate(self.fresh(self.topic.verbs), head, "past")
            after = Phrase(Phrase("who", faults=(("relative pronoun", "which"),)), verb, self.thing(depth - 1).object)
        elif self.chance(0.15):
            after = f"from {self.pick(CITIES)}"
        return self.nominal(det, "", role, who, after, needy=False)

    # Clauses without sentiment

    def active(
        self,
        subject: NounPhrase,
        verb: str,
        target: NounPhrase,
        tense: str,
        negation: str = "",
        tail: Part = "",
    ) -> Phrase:
        adverb = self.pick(MANNERS) if verb in self.topic.verbs and not negation and self.chance(0.12) else ""
        action = self.predicate(verb, subject, tense, negation, adverb)
        wrong: tuple[Fault, ...] = (("word order", Phrase(action, subject.phrase, target.object, tail)),)
        if verb not in NO_OBJECT_NEEDED:  # or it would be a fronted object: "the mirror Malik enchants"
            wrong += (("word order", Phrase(subject.phrase, target.object, action, tail)),)
        # A time would take the place of the object: "she enjoyed last night".
        what = self.wanted(verb, target) if isinstance(tail, str) else target.object
        return Phrase(subject.phrase, action, what, tail, faults=wrong)

    def passive(self, target: NounPhrase, verb: str, doer: NounPhrase | None, tense: str, negation: str = "") -> Phrase:
        base, _, _, participle, ing = forms(verb)
        done, by = Phrase(participle), Phrase()
        if doer is not None:  # without one, the wrong form may be an adjective: "the ferry was clean"
            done = Phrase(participle, faults=(("passive", base if base != participle else ing),))
            by = Phrase("by", doer.object, faults=(("missing preposition", doer.object),))
        return Phrase(target.phrase, self.predicate("be", target, tense, negation), done, by)

    def event(self, depth: int = 1, tense: str = "") -> Phrase:
        """A clause without sentiment."""
        tense = tense or self.pick(("past", "past", "past", "progressive"))
        dice = self.random()
        subject = self.person(depth)
        place = self.pick(self.topic.places) if self.chance(0.25) else ""
        if dice < 0.5:
            verb = self.fresh(self.topic.verbs)
            return self.active(subject, verb, self.thing(depth - 1, new=True), tense, tail=place or self.when(tense))
        if dice < 0.68 and tense != "progressive":
            doer = subject if self.chance(0.6) else None
            return Phrase(self.passive(self.thing(depth - 1), self.fresh(self.topic.verbs), doer, tense), place)
        if dice < 0.84:
            action = self.predicate(self.pick(INTRANSITIVE), subject, tense)
            extra = Phrase(action, self.name().object)
            return Phrase(subject.phrase, Phrase(action, faults=(("extra argument", extra),)), place)
        hearer, about = self.person(0, counted=False), self.thing(depth - 1)
        if self.chance(0.5):
            action = self.predicate(self.pick(("tell", "ask")), subject, tense)
            swapped = Phrase("about", about.object, hearer.object)
            return Phrase(
                subject.phrase,
                action,
                Phrase(hearer.object, "about", about.object, faults=(("frame", swapped),)),
            )
        action = self.predicate(self.pick(("describe", "mention")), subject, tense)
        swapped = Phrase(hearer.object, about.object)
        return Phrase(subject.phrase, action, Phrase(about.object, "to", hearer.object, faults=(("frame", swapped),)))
