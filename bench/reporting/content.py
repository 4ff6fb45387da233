"""What stands on the page, as blocks that HTML and Markdown are made of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bench.board import formats
from bench.plugins.labels import parse_label
from bench.records.model import AttackRecord, Record
from bench.reporting import picture
from bench.reporting.figures import Figure, Sentence, figure
from bench.reporting.findings import KNOWLEDGE, LIST, NO_LIST, PART, UPDATES, Finding, Leak, findings
from bench.reporting.verdict import recommendation, verdict

GLOSSARY = {
    "defense": "a way of changing a text's vector before it leaves the client",
    "encoding": "what leaves the client in place of a text: its vector, as the defense changed it",
    "leak": "the share of what a defense hides that an attack finds. Nothing hidden: all of it. Perfectly hidden: no "
    "more than a guess finds",
    "guess": "what an attacker reaches who has seen nothing",
    "list of candidates": "texts that the attacker thinks may be private, such as public reviews or last year's data. "
    "Here it holds every private text, which is the attacker's best case",
    "ε claimed": "how much one text may change what is released, as the defense says of itself. Small is private; "
    "beyond about ten it promises little",
    "ε actual": "the same, computed by an accountant for all encodings that the attacker saw",
    "ε audited": "a lower bound by experiment, with 95 % confidence. Above the claim, it refutes it",
    "refuted, consistent, vacuous": "the experiment shows more than is claimed; it does not; it could not have",
    "accuracy": "how often a model that was trained on encodings is right about rows that were held out",
    "constant answer": "a model that always answers the same: whatever is not above it has learnt nothing",
    "frozen, fine-tuned": "the encoder as it was downloaded, or trained further through the defense",
}


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Items:
    """Sentences, one below the other."""

    sentences: Sequence[Sentence]
    strong: bool = False


@dataclass(frozen=True)
class Paragraph:
    sentence: Sentence


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[Sentence]]


@dataclass(frozen=True)
class Picture:
    svg: str
    about: str


@dataclass(frozen=True)
class Code:
    text: str


Block = Heading | Items | Paragraph | Table | Picture | Code


@dataclass(frozen=True)
class Report:
    """The records of a report, and how they came about."""

    records: Sequence[Record]
    left_out: Sequence[str]
    """steps that the budget had no room for"""
    command: Sequence[str]
    """that repeats it"""

    @property
    def findings(self) -> list[Finding]:
        return findings(self.records)

    @property
    def title(self) -> str:
        name, options = parse_label(self.records[0].dataset.label)
        return f"What hides {options.get('path', name)}, and what does not"


def blocks(report: Report) -> list[Block]:
    found = report.findings
    made: list[Block] = [Paragraph(_subject(report.records)), Heading("Verdict")]
    made += [Items(verdict(found)), Heading("What to do"), Items(recommendation(found), strong=True)]
    if svg := picture.draw(found):
        made += [Heading("Leak against accuracy"), Picture(svg, picture.ABOUT)]
    made += [Heading("What an attacker had to know"), _knowledge(found), Items(_footnotes(found))]
    if budgets := _budgets(found):
        made += [Heading("Promises of ε"), budgets]
    made += [Heading("What it costs"), _costs(found)]
    if failures := [(f"{one.defense}: {text}",) for one in found for text in one.failures]:
        made += [Heading("What failed"), Items(failures)]
    if report.left_out:
        rest: list[Sentence] = [(title,) for title in report.left_out]
        made += [Heading("Not run"), Paragraph((_LEFT_OUT,)), Items(rest)]
    made += [Heading("Words"), Table(("word", "meaning"), [((word,), (said,)) for word, said in GLOSSARY.items()])]
    made += [Heading("Again"), Paragraph((_AGAIN,)), Code(shlex.join(report.command))]
    return made


_LEFT_OUT = "The budget had no room for these; the same command again takes what is on record, and goes on with them:"
_PRECISION = (
    " One split and one seed: accuracy on a few hundred held-out rows is known to within about six points, on fewer "
    "rows less well, and another seed gives another number."
)
_AGAIN = "Every number is one of a record; bench show ID prints the record. This repeats the report:"


def _subject(records: Sequence[Record]) -> Sentence:
    """Which data, how many of them, and through which encoder."""
    attacked = next((r for r in records if isinstance(r, AttackRecord) and r.dataset.examples), None)
    first = records[0]
    said: list[str | Figure] = [f"{first.dataset.label}, encoder {first.encoder.label}."]
    if rows := next(filter(None, (figure(r, "dataset.size", formats.count) for r in records)), None):
        said += [" ", rows, " rows to train on; accuracy is on rows that were held out."]
    if attacked and (private := figure(attacked, "dataset.examples", formats.count)):
        said += [" Attacked were ", private, " private texts"]
        candidates = figure(attacked, "dataset.candidates", formats.count)
        said += [" among ", candidates, " candidates."] if candidates else ["."]
    if corpora := dict.fromkeys(r.public.label for r in records if r.public):
        said.append(f" Public texts, where a defense or an attack takes some, are those of {' and '.join(corpora)}.")
    return (*said, _PRECISION)


def _knowledge(found: Sequence[Finding]) -> Table:
    columns = _columns(found)
    rows = [[_named(one), *(_leak(one.worst(k)) for k in columns)] for one in found if one.leaks]
    return Table(("defense", *(KNOWLEDGE[k] for k in columns)), rows)


def _columns(found: Sequence[Finding]) -> list[str]:
    return [k for k in (LIST, PART, NO_LIST, UPDATES) if any(one.worst(k) for one in found)]


def _named(one: Finding) -> Sentence:
    return (f"{one.defense}, fine-tuned" if one.training else one.defense,)


def _leak(leak: Leak | None) -> Sentence:
    if leak is None:
        return ("–",)
    chance: Sentence = (" (guess: ", leak.random, ")") if leak.random else ()
    mark = " ≈" if leak.at_random else ""
    return ("" if leak.is_share else f"{leak.metric} ", leak.value, *chance, f"{mark}, {leak.attack}")


def _footnotes(found: Sequence[Finding]) -> list[Sentence]:
    said: list[Sentence] = [("≈: no better than guessing.",)]
    if any(not one.worst(k) for k in _columns(found) for one in found if one.leaks):
        said.append(("–: not run.",))
    if any(one.worst(PART) for one in found):
        said.append(("With half of the private texts in the list, the share is of those that are in it.",))
    if any(one.worst(NO_LIST) for one in found):
        said.append(
            ("Without a list, cosine says how close rebuilt vectors come to the true ones; exact would be one.",)
        )
    return said


def _budgets(found: Sequence[Finding]) -> Table | None:
    rows: list[list[Sentence]] = []
    for one in found:
        if not one.budgets or one.training:
            continue
        actual: list[Sentence] = [(b.actual, " after ", b.encodings) for b in one.budgets]
        audits: list[Sentence] = [("≥ ", a.audited, f" ({a.verdict}) after ", a.encodings) for a in one.audits]
        rows.append([_named(one), (one.budgets[0].claimed,), _lines(actual), _lines(audits) or ("not audited",)])
    head = ("defense", "ε claimed", "ε actual, after so many encodings of a text", "ε audited")
    return Table(head, rows) if rows else None


def _lines(parts: Sequence[Sentence]) -> Sentence:
    return tuple(piece for at, part in enumerate(dict.fromkeys(parts)) for piece in ((("; ",) if at else ()) + part))


def _costs(found: Sequence[Finding]) -> Table:
    rows: list[list[Sentence]] = []
    for one in found:
        kept: Sentence = (f"{one.utility.metric} ", one.utility.value) if one.utility else ("not measured",)
        constant: Sentence = (one.utility.majority,) if one.utility else ("–",)
        leak = one.worst(LIST)
        time: Sentence = (leak.seconds, f", {leak.attack}") if leak and leak.seconds else ("–",)
        rows.append([_named(one), kept, constant, time])
    return Table(("defense", "on held-out rows", "constant answer", "time of the strongest attack"), rows)
