"""The report in words: what falls, what holds, which promises are kept, and what to do. Every number is a record's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from bench.board.headline import AFFORDABLE, FALLEN
from bench.board.model import LEARNT
from bench.reporting.figures import Sentence, joined
from bench.reporting.findings import LIST, NO_LIST, UPDATES, Finding, Leak, Utility

UNPROVEN = (
    ", and accuracy stays. That is no guarantee: it claims no ε that holds, and a better attack may find more. Do not "
    "call it anonymous."
)
# Of a defense that held for encodings of an encoder whose training sends what gives the texts away.
BUT_TRAINED = (
    " And that is of its encodings alone: to train the encoder together, clients send its gradients, which give the "
    "texts away behind any such defense that was tried."
)
NOTHING = "Nothing that was tried both hides these texts with a guarantee and keeps accuracy."
UNMEASURED = (
    ": no attack beats guessing, and the ε holds. What it costs in accuracy was not measured yet, so there is nothing "
    "to recommend: go on with the same command, or raise --budget."
)
INSTEAD = (
    "Otherwise keep texts and vectors where they are, or train where the server is trusted and noise is added to sums "
    "over many texts (DP-SGD), which usually costs less than noise on each text."
)
NO_GRADIENTS = (
    "Do not send gradients of the encoder, whatever hides the encodings, and clients that fine-tune it together do "
    "send them: train the head alone, or add noise to the gradients themselves."
)


def verdict(found: Sequence[Finding]) -> list[Sentence]:
    """What falls, what holds and at which price, which promises of ε are kept."""
    return [*_fallen(found), *_leaky(found), *_held(found), *_no_list(found), *_promises(found), *_updates(found)]


def recommendation(found: Sequence[Finding]) -> list[Sentence]:
    """What to do, by rules that are the same for all data: docs/report.md has them."""
    defended = [one for one in found if not one.undefended]
    safe = [one for one in defended if one.holds and _everywhere(one.defense, found)]
    usable = [one for one in safe if cost(one, found) <= AFFORDABLE and learns(one.utility)]
    unmeasured = [one for one in safe if one.sound and not one.utility]
    read = any(_fell(one.worst(UPDATES)) for one in found)
    said: list[Sentence] = []
    if best := _best([one for one in usable if one.sound], found):
        but = BUT_TRAINED if read and best.training else ""
        said.append(("Use ", best.defense, _where(best), f": {_withstood(best)}, and its ε holds.{but}"))
    elif best := _best(usable, found):
        tried = f"{best.defense}{_where(best)} is the best of what was tried: {_withstood(best)}"
        said.append((f"By experiment alone, {tried}{UNPROVEN}{BUT_TRAINED if read and best.training else ''}",))
    elif best := _best([one for one in safe if one.sound and one.utility], found):
        kept = _kept(best, found)
        but = ": take it if " if learns(best.utility) else ", but a model that is trained on it learns nothing: "
        worth = " is worth having." if learns(best.utility) else "."
        said.append((f"{NOTHING} {best.defense} has a guarantee that holds{but}", *kept, worth))
    elif unmeasured:
        said.append((*joined([(one.defense,) for one in unmeasured]), UNMEASURED))
    else:
        said.append((f"{NOTHING} Do not release encodings of these texts.",))
    if not usable and not unmeasured:
        said.append((INSTEAD,))
    if read:
        said.append((NO_GRADIENTS,))
    if (plain := _undefended(found, None)) and plain.utility and not learns(plain.utility):
        said.append(("What a defense costs cannot be judged on these data: without any defense the model reaches ",
                     plain.utility.value, " ", plain.utility.metric, ", a constant answer ", plain.utility.majority,
                     "."))  # fmt: skip
    return said


def cost(one: Finding, found: Iterable[Finding]) -> float:
    """Points of the task's metric that the defense costs; infinite if it is not known."""
    plain = _undefended(found, one.training)
    if one.utility is None or plain is None or plain.utility is None:
        return math.inf
    return plain.utility.value.value - one.utility.value.value


def learns(utility: Utility | None) -> bool:
    return utility is not None and utility.value.value >= utility.majority.value + LEARNT


def _undefended(found: Iterable[Finding], training: str | None) -> Finding | None:
    return next((one for one in found if one.undefended and one.training == training), None)


def _everywhere(defense: str, found: Iterable[Finding]) -> bool:
    """Whether no attack on encodings beats guessing in any setting that was tried."""
    return all(one.holds for one in found if one.defense == defense and one.on_encodings)


def _best(some: Sequence[Finding], found: Sequence[Finding]) -> Finding | None:
    return min(some, key=lambda one: cost(one, found), default=None)


def _strongest(one: Finding) -> Leak | None:
    """On encodings, by the share of texts that it names."""
    return max((leak for leak in one.on_encodings if leak.is_share), key=lambda leak: leak.value.value, default=None)


def _fell(leak: Leak | None) -> bool:
    return leak is not None and leak.is_share and not leak.at_random and leak.value.value > FALLEN


def _fallen(found: Sequence[Finding]) -> list[Sentence]:
    """Of each defense, the setting in which most was found."""
    said: list[Sentence] = []
    for defense in dict.fromkeys(one.defense for one in found if not one.undefended):
        some = [(one, leak) for one in found if one.defense == defense and (leak := _strongest(one)) and _fell(leak)]
        if some:
            one, leak = max(some, key=lambda pair: pair[1].value.value)
            said.append((defense, " does not hide these texts: ", *_names(leak), _where(one), "."))
    return said


def _names(leak: Leak) -> Sentence:
    told = " with a list of candidates" if leak.knowledge == LIST else ""
    chance: Sentence = (" (a guess: ", leak.random, ")") if leak.random else ()
    return (f"{leak.attack}{told} finds ", leak.value, " of what it hides", *chance)


def _leaky(found: Sequence[Finding]) -> list[Sentence]:
    said: list[Sentence] = []
    for one in found:
        leak = _strongest(one)
        if not one.undefended and leak and not leak.at_random and not _fell(leak):
            said.append((one.defense, " hides part of them: ", *_names(leak), _where(one), "."))
    return said


def _held(found: Sequence[Finding]) -> list[Sentence]:
    said: list[Sentence] = []
    for one in found:
        if not one.undefended and one.holds:
            price: Sentence = ("; ", *_kept(one, found)) if one.utility else ()
            said.append((one.defense, _where(one), ": ", _withstood(one), *price, "."))
    return said


def _withstood(one: Finding) -> str:
    """A single attack is little to have withstood, and is said to be one."""
    tried = len({leak.attack for leak in one.on_encodings})
    return "the one attack that was run does not beat guessing" if tried == 1 else "no attack beats guessing"


def _kept(one: Finding, found: Sequence[Finding]) -> Sentence:
    assert one.utility is not None
    plain = _undefended(found, one.training)
    before: Sentence = (" in place of ", plain.utility.value) if plain and plain.utility else ()
    constant: Sentence = (" (a constant answer: ", one.utility.majority, ")")
    return (f"{one.utility.metric} ", one.utility.value, *before, *constant)


def _no_list(found: Sequence[Finding]) -> list[Sentence]:
    """What is left of a fallen defense when the attacker has no candidates."""
    open_ = [(one, leak) for one in found if not one.undefended and (leak := one.worst(NO_LIST)) and not leak.at_random]
    if not open_:
        return []
    parts: list[Sentence] = [(one.defense, " (cosine ", leak.value, ")") for one, leak in open_]
    return [("Without any list an attacker still rebuilds vectors better than by guessing behind ", *joined(parts),
             ": whoever gets a list later can read them.")]  # fmt: skip


def _promises(found: Sequence[Finding]) -> list[Sentence]:
    said: list[Sentence] = []
    for one in found:
        worst = max(one.budgets, key=lambda budget: (budget.actual.value, budget.encodings.value), default=None)
        if worst is None or one.training is not None:
            continue
        refuted = max((a for a in one.audits if a.verdict == "refuted"), key=lambda a: a.audited.value, default=None)
        if not worst.holds:
            after: Sentence = (" after ", worst.encodings, " encodings of a text" if worst.encodings.value > 1
                               else " encoding of a text")  # fmt: skip
            shown: Sentence = ("; an experiment shows at least ", refuted.audited) if refuted else ()
            said.append((one.defense, " claims ε = ", worst.claimed, "; the actual ε is ", worst.actual, *after, *shown,
                         "."))  # fmt: skip
        elif one.sound:
            often: Sentence = (", whether a text is encoded once or ", worst.encodings, " times")
            holds = often if worst.encodings.value > 1 else ()
            said.append((one.defense, " claims ε = ", worst.claimed, ", which holds", *holds, "."))
    return said


def _updates(found: Sequence[Finding]) -> list[Sentence]:
    fallen = [(one, leak) for one in found if (leak := one.worst(UPDATES)) and _fell(leak)]
    if not fallen:
        return []
    parts: list[Sentence] = [
        ("no defense" if one.undefended else one.defense, " (", leak.value, ")") for one, leak in fallen
    ]
    attack = fallen[0][1].attack
    return [("Where a client sends gradients of the encoder itself, ", attack, " names the texts of a batch behind ",
             *joined(parts), ".")]  # fmt: skip


def _where(one: Finding) -> str:
    return " (encoder fine-tuned)" if one.training else ""
