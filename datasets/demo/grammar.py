"""Whole sentences of the demo grammar: embedding, coordination, questions, exclamations and requests."""

from __future__ import annotations

from bench.datasets.demo.clauses import ANYONE, Clauses, Rule
from bench.datasets.demo.faults import Part, Phrase
from bench.datasets.demo.verbs import NounPhrase
from bench.datasets.demo.words import DEGREES, EXPERIENCES, FEELINGS, MOODS, REPORTS, forms, plural

__all__ = ["Grammar"]

OPENINGS = (
    "Clearly",
    "In my opinion",
    "To my mind",
    "All in all",
    "Frankly",
    "As far as I know",
    "In the end",
    "Of course",
)


class Grammar(Clauses):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.wholes: tuple[Rule, ...] = (
            self.reports, self.reports, self.doubts, self.adjunct, self.adjunct, self.adds, self.adds,
            self.concedes, self.concedes, self.not_only, self.if_you, self.opinion, self.because, self.both,
            self.maker, self.why, self.who, self.which_one, self.asks, self.tag, self.exclaims, self.advises,
            self.effect, self.luck,
        )  # fmt: skip

    # Sentences that contain clauses; each clause may again be a sentence of this kind.

    def clause(self, mood: int, depth: int) -> Phrase:
        if depth > 0 and self.chance(0.3):
            return self.pick((self.reports, self.adjunct, self.doubts))(mood, depth - 1)
        return self.simple(mood, min(depth, 1))

    def reports(self, mood: int, depth: int) -> Phrase:
        person, verb = self.person(0, counted=False), self.pick(REPORTS)
        action = self.predicate(verb, person, self.tense("past", "past", "present"))
        if verb != "believe":  # "believed Ben that" is only doubtful
            action = Phrase(action, faults=(("extra argument", Phrase(action, self.name().object)),))
        return Phrase(person.phrase, action, Phrase("that", faults=(("complement", "for"),)), self.clause(mood, depth))

    def doubts(self, mood: int, depth: int) -> Phrase:
        """`does not think that` denies the embedded clause."""
        if "not" in self.used:
            return self.reports(mood, depth)
        self.used.append("not")
        person = self.person(0, counted=False)
        action = self.predicate(self.pick(("think", "believe")), person, self.tense("past", "present"), "not")
        side = self.pick((self.is_good, self.feels, self.moves))(1 - mood, 0)
        return Phrase(person.phrase, action, "that", side)

    def adjunct(self, mood: int, depth: int) -> Phrase:
        word = self.pick(("when", "after", "before", "while", "because", "since"))
        wrong = {"when": "during", "while": "during", "because": "because of"}.get(word, "despite")
        start = Phrase(word, faults=(("conjunction", wrong),))
        before, self.narrating = self.narrating, True
        main, event = (
            self.clause(mood, depth),
            self.event(depth, "progressive" if word == "while" else "past"),
        )
        self.narrating = before
        return Phrase(start, event, ",", main) if self.chance(0.5) else Phrase(main, start, event)

    def adds(self, mood: int, depth: int) -> Phrase:
        first, second = self.clause(mood, depth - 1), self.simple(mood, 0)
        return Phrase(first, ",", Phrase("and", faults=(("conjunction", "and but"),)), second)

    def concedes(self, mood: int, depth: int) -> Phrase:
        """What is conceded counts less than what it is conceded to."""
        word = self.pick(("although", "even though", "though"))
        first, second = self.simple(1 - mood, 0), self.clause(mood, depth - 1)
        if self.chance(0.45):
            return Phrase(first, ",", "but", second, faults=(("conjunction", Phrase(word, first, ", but", second)),))
        start = Phrase(word, faults=(("conjunction", "despite"),))
        return Phrase(start, first, ",", second, faults=(("conjunction", Phrase(word, first, ", but", second)),))

    def not_only(self, mood: int, depth: int) -> Phrase:
        person = self.person(0, counted=False)
        tense = self.tense("past", "present")
        one, other = self.fresh(FEELINGS[mood]), self.fresh(FEELINGS[mood])
        aux, main = self.finite(one, person, tense, invert=True)
        first, second = self.thing(0, counted=False), self.thing(0, counted=False)
        again = self.pronoun(person.who)
        flat = self.predicate(one, person, tense)
        return Phrase(
            "not only",
            Phrase(aux, person.phrase, main, faults=(("inversion", Phrase(person.phrase, flat)),)),
            first.object, ", but", again.phrase, "also", self.predicate(other, person, tense),
            self.wanted(other, second),
        )  # fmt: skip

    def if_you(self, mood: int, depth: int) -> Phrase:
        target, verb = self.thing(depth, counted=False), self.fresh(self.topic.verbs)
        side, negation = self.flip(mood)
        feeling = self.pick(FEELINGS[side])
        will = "will never" if negation == "never" else "will not" if negation else "will"
        wrong = Phrase(will, forms(feeling).past)
        back = self.wanted(feeling, self.pronoun(target.who))
        return Phrase(
            "if you",
            verb,
            target.object,
            ", you",
            Phrase(f"{will} {feeling}", faults=(("verb form", wrong),)),
            back,
        )

    def opinion(self, mood: int, depth: int) -> Phrase:
        return Phrase(self.pick(OPENINGS), ",", self.simple(mood, depth))

    # Statements whose fault is a question that moves a word out of an island

    def because(self, mood: int, depth: int) -> Phrase:
        person, doer = self.person(0, counted=False), self.person(0, counted=False)
        feeling, verb, target = self.pick(MOODS[mood]), self.fresh(self.topic.verbs), self.thing(depth)
        word = self.pick(("because", "after", "when"))
        aux, main = self.finite("be", person, "past")
        action = self.predicate(verb, doer, "past")
        island = Phrase("what", aux, person.phrase, main, feeling, word, doer.phrase, action, "?")
        start = Phrase(person.phrase, aux, main, feeling)
        return Phrase(start, word, doer.phrase, action, target.object, faults=(("island", island),))

    def both(self, mood: int, depth: int) -> Phrase:
        person, verb = self.person(depth, counted=False), self.pick(FEELINGS[mood])
        first, second = self.thing(0, counted=False), self.thing(depth, counted=False, needy=False)
        aux, main = self.finite(verb, person, "past", invert=True)
        island = Phrase("what", aux, person.phrase, main, first.object, "and", "?")
        action = self.predicate(verb, person, "past")
        return Phrase(person.phrase, action, first.object, "and", second.object, faults=(("island", island),))

    def maker(self, mood: int, depth: int) -> Phrase:
        """An opinion of somebody who did something; what was done is inside a relative clause."""
        person, verb, did = (
            self.person(0, counted=False),
            self.pick(FEELINGS[mood]),
            self.fresh(self.topic.verbs),
        )
        role, target = self.fresh(self.topic.people), self.thing(depth)
        past = forms(did).past
        head = Phrase("the", role, Phrase("who", faults=(("relative pronoun", "which"),)), past)
        aux, main = self.finite(verb, person, "past", invert=True)
        island = Phrase("which", self.fresh(self.topic.nouns), aux, person.phrase, main, head, "?")
        action = self.predicate(verb, person, "past")
        return Phrase(person.phrase, action, head, self.wanted(did, target), faults=(("island", island),))

    def asked(self) -> NounPhrase:
        """Somebody to ask about: people do not ask what they like themselves."""
        person = self.person(0, counted=False)
        return self.pronoun("you") if person.who in ("I", "we") else person

    # Questions presuppose their opinion: "why did you hate it" says that you did.

    def why(self, mood: int, depth: int) -> Phrase:
        if self.chance(0.5):
            subject = self.thing(depth, counted=False)
            aux, main = self.finite("be", subject, self.tense("past", "present"))
            rest = Phrase("so", self.adjective(mood))
            order = Phrase(aux, subject.phrase, main, faults=(("inversion", Phrase(subject.phrase, aux, main)),))
            return Phrase("why", order, rest, "?")
        person, verb = self.asked(), self.pick(FEELINGS[mood])
        aux, main = self.finite(verb, person, self.tense("past", "present"), invert=True)
        flat = Phrase(person.phrase, forms(verb).past)
        order = Phrase(aux, person.phrase, main, faults=(("inversion", flat),))
        return Phrase("why", order, self.wanted(verb, self.thing(depth, counted=False)), "?")

    def who(self, mood: int, depth: int) -> Phrase:
        verb = self.act(mood) if self.chance(0.5) else self.pick(FEELINGS[mood])
        target, past = self.thing(depth, counted=False), forms(verb).past
        if self.chance(0.4):
            trace = Phrase("", faults=(("that-trace", "that"),))
            asked = Phrase("who", self.pick(("do you think", "did she say", "do they believe")), trace)
        else:
            role = self.fresh(self.topic.people)
            which = Phrase("which of the", plural(role), faults=(("number", f"which of the {role}"),))
            asked = Phrase(self.pick((Phrase("who"), Phrase("which", role), which)))
        wrong = Phrase(asked, target.object, past)
        return Phrase(Phrase(asked, past, self.wanted(verb, target), faults=(("word order", wrong),)), "?")

    def which_one(self, mood: int, depth: int) -> Phrase:
        person, verb, noun = self.asked(), self.pick(FEELINGS[mood]), self.fresh(self.topic.nouns)
        aux, main = self.finite(verb, person, self.tense("past", "present"), invert=True)
        flat = Phrase(person.phrase, forms(verb).past)
        order = Phrase(
            aux,
            person.phrase,
            main,
            faults=(("inversion", flat), ("resumptive", Phrase(aux, person.phrase, main, "it"))),
        )
        place = (
            self.pick(self.topic.places)
            if self.chance(0.4)
            else self.pick(("most", "the most", "more than the others"))
        )
        return Phrase("which", self.pick((*self.topic.plain, "")), noun, order, place, "?")

    def asks(self, mood: int, depth: int) -> Phrase:
        person = self.person(0, counted=False)
        action = self.predicate(self.pick(("wonder", "ask", "know", "understand")), person, "past")
        subject = self.thing(depth, counted=False)
        aux, main = self.finite("be", subject, "past")
        order = Phrase(subject.phrase, aux, main, faults=(("inversion", Phrase(aux, subject.phrase, main)),))
        return Phrase(person.phrase, action, "why", order, "so", self.adjective(mood))

    def tag(self, mood: int, depth: int) -> Phrase:
        subject = self.thing(depth, counted=False)
        tense = self.tense("past", "present")
        aux, main = self.finite("be", subject, tense)
        back = {"it": ("was", "is"), "they": ("were", "are")}[subject.who][tense == "present"]
        wrong = self.pick((f"didn't {subject.who}", "weren't they" if subject.who == "it" else "isn't it"))
        asked = Phrase(f"{back}n't {subject.who}", faults=(("tag", wrong),))
        return Phrase(
            subject.phrase,
            aux,
            main,
            self.pick(("really", "so", "rather", "")),
            self.adjective(mood),
            ",",
            asked,
            "?",
        )

    # Exclamations and requests

    def exclaims(self, mood: int, depth: int) -> Phrase:
        quality = self.adjective(mood)
        if self.chance(0.5):
            doer, verb = self.person(0, counted=False), self.fresh(self.topic.verbs)
            aux, main = self.finite(verb, doer, "past", invert=True)
            said = Phrase(doer.phrase, self.predicate(verb, doer, self.tense("past", "perfect")))
            order = Phrase(said, faults=(("inversion", Phrase(aux, doer.phrase, main)),))
            noun = self.fresh(self.topic.nouns)
            a = Phrase("a", quality, noun, faults=(("word order", Phrase(quality, "a", noun)),))
            return Phrase("what", a, order, "!")
        subject = self.thing(depth, counted=False)
        link = self.predicate("be", subject, self.tense("past", "present"))
        wrong = Phrase("how", subject.phrase, quality, link)
        return Phrase(Phrase("how", quality, subject.phrase, link, faults=(("word order", wrong),)), "!")

    def advises(self, mood: int, depth: int) -> Phrase:
        verb, target = self.fresh(self.topic.verbs), self.thing(0, counted=False)
        action: Part = Phrase(verb, faults=(("verb form", forms(verb).third),))
        if not mood:
            action = Phrase(self.pick(("do not", "don't", "never")), action)
        it = self.pronoun(target.who)
        link = self.predicate("be", it, "present")
        everyone = Phrase("everyone", self.predicate(self.pick(FEELINGS[mood]), ANYONE, "present"), it.object)
        few = Phrase("nobody", self.predicate(self.pick(FEELINGS[1 - mood]), ANYONE, "present"), it.object)
        effect = Phrase(it.phrase, self.predicate(self.pick(EXPERIENCES[mood]), it, "future"), self.person(0).object)
        quality = Phrase(it.phrase, link, self.pick(DEGREES), self.adjective(mood))
        reason = self.pick((everyone, few, effect, quality))
        return Phrase(self.pick(("", "please")), action, target.object, ", because", reason)

    def effect(self, mood: int, depth: int) -> Phrase:
        """An event whose result is the opinion."""
        verb = self.pick(EXPERIENCES[mood])
        which = Phrase("which", faults=(("relative pronoun", "that"),))
        person = self.person(0, counted=False)
        return Phrase(
            self.event(depth, "past"),
            ",",
            which,
            self.predicate(verb, ANYONE, "past"),
            self.wanted(verb, person),
        )

    def sentence(self, mood: int) -> Phrase:
        """A sentence of the given sentiment."""
        self.start()
        if self.chance(0.36):
            return self.simple(mood, 2)
        return self.pick(self.wholes)(mood, self.pick((1, 1, 2)))
