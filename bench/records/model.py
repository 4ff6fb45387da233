"""What a record is: the result of one attack, training run or audit, and all that it was made from.

Records are immutable, and checked when they are made or read.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeGuard

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from bench.plugins.decorators import ON
from bench.plugins.training import Finetuned, from_record
from bench.records.origin import Origin
from bench.records.values import MOST, Number, Options, Part, Plain, rounded

SCHEMA = 2
# What `code` names: the parts of this project and of plugins that decide a record's numbers.
COMPONENTS = ("setup", "surface", "encoder", "defense", "attack", "dataset", "scoring", "training", "audit")
# When a cell ended; such texts can be compared.
STAMP = "%Y-%m-%dT%H:%M:%SZ"
# The name of a suite becomes that of a file.
_SUITE = re.compile(r"\w[\w .+-]*")
_COMPONENT = re.compile(r"[a-z-]{1,40}")


def _modality(name: str) -> str:
    if name not in ON:
        raise ValueError(f"one of {', '.join(ON)} was expected")
    return name


def _kind_of_guess(name: str) -> str:
    from bench.types import EVERY_KIND  # NumPy, which a record without a guess can do without

    if name not in EVERY_KIND:
        raise ValueError(f"one of {', '.join(EVERY_KIND)} was expected")
    return name


def _suite_name(name: str) -> str:
    if not _SUITE.fullmatch(name):
        raise ValueError("the name of a suite was expected: letters, digits, spaces and . + - _")
    return name


def _component_name(name: str) -> str:
    if not _COMPONENT.fullmatch(name):
        raise ValueError("the name of a component was expected, such as attack: lower-case letters and -")
    return name


class Plugin(Part):
    name: str
    options: Options = Field(default_factory=dict)
    label: str
    """the name with the options that differ from their defaults, as one would type it"""


class Dataset(Plugin):
    fingerprint: str
    modality: Annotated[str, AfterValidator(_modality)] = "text"
    examples: int | None = None
    """private examples"""
    size: int | None = None
    """examples of the train split"""
    candidates: int | None = None
    """sentences in the attacker's corpus"""


class Encoder(Plugin):
    fingerprint: str | None = None
    dim: int | None = None
    checkpoint: str | None = None
    """what a training made of it: hash of the weights that the attack faced"""


class Attack(Plugin):
    sees: list[str]


class Public(Part):
    """The public corpus."""

    name: str
    label: str
    fingerprint: str


class Sizes(Part):
    """The protocol: how much was attacked."""

    examples: int
    epochs: int
    candidates: int | None
    coverage: float
    split: str
    batch: int | None = None
    """sentences in an update, where updates were attacked"""
    update: str | None = None
    """how the update was made: bench.plugins.rounds.Update"""


class Metric(Part):
    """A mean with its 95 % interval, beside what random guessing reaches."""

    value: Number
    low: Number = None
    high: Number = None
    random: Number = None
    random_low: Number = None
    random_high: Number = None


class Outcomes(Part):
    """The leak of each private example, in their order."""

    metric: str
    values: str
    """base64 of little-endian half-precision numbers"""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        try:
            size = len(base64.b64decode(self.values, validate=True))
        except binascii.Error as error:
            raise ValueError(f"values are not base64 ({error})") from error
        if size % 2:
            raise ValueError("values are cut: two bytes for each example were expected")
        return self


class Sample(Part):
    """A question with its answer."""

    example: str
    answer: str | None
    """None for a wrong answer that the suite does not want kept"""
    right: bool
    jaccard: Number = None
    tfidf: Number = None
    sbert: Number = None


class Attempts(Part):
    """What a sealed attack tried beyond its view."""

    attempts: dict[str, int] = Field(default_factory=dict)
    left_behind: int = 0
    """processes that were still running when the attack had ended"""


class KeptGuess(Part):
    """The guess that the metrics were computed from, kept beside the record (bench.records.guesses)."""

    kind: Annotated[str, AfterValidator(_kind_of_guess)]
    """ranking, vectors, texts, images"""
    size: int | None = None
    """bytes of its file"""
    sha256: str | None = None
    left_out: str | None = None
    """why it is not kept"""


class Cost(Part):
    """Seconds and MiB."""

    release_s: Number = None
    attack_s: Number = None
    score_s: Number = None
    train_s: Number = None
    peak_mib: Number = None
    threads: int | None = None
    ended: str = ""

    @property
    def seconds(self) -> float:
        """of the whole cell"""
        parts = (self.release_s, self.attack_s, self.score_s, self.train_s)
        return sum(part for part in parts if isinstance(part, float | int))


class Budget(Part):
    epsilon: float
    delta: float | None = None


class MeasuredUtility(Part):
    """What the defense of an attacked cell costs, and the record that says so."""

    metrics: dict[str, Number]
    id: str


class Record(Part):
    """What records of attacks, training and audits have in common."""

    schema_version: Literal[2] = Field(2, alias="schema")
    id: str
    status: Literal["ok", "failed", "timeout"] = "ok"
    dataset: Dataset
    encoder: Encoder
    defense: Plugin
    public: Public | None = None
    seed: int
    code: dict[Annotated[str, AfterValidator(_component_name)], str] = Field(default_factory=dict)
    """hashes of the definitions that decided the numbers, by component (bench.records.fingerprint)"""
    notes: Plain = Field(default_factory=dict)
    """what the defense says of its release, such as its ε"""
    cost: Cost = Cost()
    versions: dict[str, str] = Field(default_factory=dict)
    suites: dict[Annotated[str, AfterValidator(_suite_name)], int] = Field(default_factory=dict)
    """the suites that it was run for, with their versions"""
    error: str | None = None
    origin: Origin | None = None
    """who says so; None: self-reported"""

    @property
    def finetuned(self) -> Finetuned | None:
        """How the encoder was trained through the defense; None: it is frozen."""
        return from_record(getattr(self, "training", None))

    @property
    def model(self) -> str:
        """The encoder, and how it was trained, as one would type it."""
        return f"{self.encoder.label} {self.finetuned.label}" if self.finetuned else self.encoder.label

    @property
    def claimed(self) -> Budget | None:
        return _budget(self.notes.get("nominal"))

    @property
    def accounted(self) -> Budget | None:
        return _budget(self.notes.get("accounted"))

    @model_validator(mode="after")
    def _budgets(self) -> Self:
        if "accounted" in self.notes and not all(_promised(self.notes.get(word)) for word in ("nominal", "accounted")):
            raise ValueError("notes: an accounted ε needs the nominal one beside it")
        return self


class AttackRecord(Record):
    attack: Attack
    protocol: Sizes
    training: Options | None = None
    """how the encoder was trained through the defense; None: it is frozen"""
    attacker: Literal["current", "stale", "initial"] | None = None
    """which weights of a trained encoder the attacker held"""
    sbert: str | None = None
    """fingerprint of the weights by which answers are compared in meaning"""
    sealed: bool = False
    metrics: dict[str, Metric | None] = Field(default_factory=dict)
    outcomes: Outcomes | None = None
    samples: list[Sample] | None = None
    guess: KeptGuess | None = None
    details: Plain = Field(default_factory=dict)
    """what the attack says of itself"""
    utility: MeasuredUtility | None = None
    salt: str | None = None
    tried: Attempts | None = None

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if not self.metrics:
            return self
        from bench.scoring.metrics import METRICS

        for name, metric in self.metrics.items():
            value = metric.value if metric and name in METRICS and METRICS[name].share else None
            if isinstance(value, float | int) and not -0.001 <= value <= 1.001:
                raise ValueError(f"metrics.{name}: a share between 0 and 1 was expected")
        return self


class UtilityRecord(Record):
    training: Options
    metrics: dict[str, Number] = Field(default_factory=dict)
    majority: dict[str, Annotated[float, BeforeValidator(rounded)]] = Field(default_factory=dict)
    """what a constant answer reaches"""
    held_out: Plain = Field(default_factory=dict)

    @model_validator(mode="after")
    def _beside(self) -> Self:
        if missing := sorted(self.metrics.keys() - self.majority.keys()):
            raise ValueError(f"majority: {missing[0]} is missing")
        return self


class AuditSizes(Part):
    """The protocol of an audit: which game, and how much was played."""

    game: Literal["pair", "canaries", "updates"]
    examples: int
    """examples of each data set or batch: the one that differs and its partners; or all canaries"""
    epochs: int
    """encodings of each, or rounds of training"""
    trials: int | None = None
    """runs of each of two neighbouring data sets or batches"""
    delta: float | None = None
    """at which a defense that claims no ε is audited"""


class AuditRecord(Record):
    """An experiment that bounds a defense's ε from below."""

    protocol: AuditSizes
    claimed_epsilon: Number = Field(None, alias="claimed")
    """None: the defense claims none"""
    actual_epsilon: Number = Field(None, alias="actual")
    """what an accountant finds"""
    audited: Number = None
    """ε is at least this, with 95 % confidence"""
    verdict: Literal["refuted", "consistent", "vacuous"] | None = None
    ceiling: Number = None
    """what a perfect distinguisher would have shown in this audit"""
    delta: float | None = None
    details: Plain = Field(default_factory=dict)
    """the pair and statistic that were chosen, and what was counted"""

    @model_validator(mode="after")
    def _judged(self) -> Self:
        if self.status == "ok" and self.audited is not None and self.verdict is None:
            raise ValueError("verdict: refuted, consistent or vacuous was expected beside an audited ε")
        return self


def _promised(found: Any) -> bool:
    """Whether this is a budget, be it one without a bound, which JSON has as text, or beyond what a table shows."""
    epsilon = found.get("epsilon") if isinstance(found, Mapping) else False
    return epsilon in ("inf", None) or (isinstance(epsilon, float | int) and not isinstance(epsilon, bool))


def _budget(found: Any) -> Budget | None:
    epsilon, delta = (found.get(word) if isinstance(found, Mapping) else None for word in ("epsilon", "delta"))
    if not _is_number(epsilon):
        return None
    return Budget(epsilon=float(epsilon), delta=float(delta) if _is_number(delta) else None)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, float | int) and not isinstance(value, bool) and abs(value) < MOST
