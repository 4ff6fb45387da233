"""The GLUE tasks, from `$BENCH_DATA_DIR/glue/<Task>/*.tsv` as its download script writes them, else from the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from bench import DataError, Examples, dataset
from bench.arrays import PAIR
from bench.system import hub
from bench.system.paths import data_dir

HUB = "nyu-mll/glue"
NLI = ("entailment", "neutral", "contradiction")
NO_YES = ("0", "1")


@dataclass(frozen=True)
class Glue:
    """How one task's files are laid out; columns are names, or numbers where the file has no header."""

    task: ClassVar[str]
    config: ClassVar[str]
    text: ClassVar[tuple[str, ...]] = ("sentence1", "sentence2")
    label: ClassVar[str] = "label"
    classes: ClassVar[tuple[str, ...]] = NO_YES
    header: ClassVar[bool] = True
    hub_text: ClassVar[tuple[str, ...]] = ("sentence1", "sentence2")
    dev: ClassVar[str] = "dev"
    hub_dev: ClassVar[str] = "validation"

    def load(self, split: str) -> Examples:
        """`train`, `dev`, or `public`: the train set's single sentences without their labels."""
        if split == "public":
            texts = [part for text in self.load("train").texts for part in text.split(PAIR)]
            distinct = list(dict.fromkeys(texts))
            return Examples(distinct, [0.0] * len(distinct))
        if split not in ("train", "dev"):
            raise DataError(f"{self.config} has no split {split!r}: use train, dev or public")
        folder = data_dir()
        if folder is not None:
            return self._from_file(folder / "glue" / self.task / f"{self.dev if split == 'dev' else split}.tsv")
        return self._from_hub(self.hub_dev if split == "dev" else split)

    def _from_file(self, path: Path) -> Examples:
        if not path.is_file():
            raise DataError(f"{path} is not there: put the GLUE files into BENCH_DATA_DIR, or unset it to use the hub")
        # Fields are never quoted: MRPC and others hold unbalanced quotation marks. The mark at the start is MRPC's.
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not UTF-8 (byte {error.start}): convert it first") from error
        rows = [line.rstrip("\r").split("\t") for line in lines if line.strip()]
        if len(rows) <= self.header:
            raise DataError(f"{path} is empty")
        names = rows.pop(0) if self.header else [str(i) for i in range(len(rows[0]))]
        missing = {*self.text, self.label} - set(names)
        if missing:
            raise DataError(f"{path} lacks the column {sorted(missing)[0]!r}; it has {', '.join(names)}")
        for number, row in enumerate(rows, 1 + self.header):
            if len(row) != len(names):
                raise DataError(f"{path}, line {number}: {len(row)} fields where {len(names)} were expected")
        column = {name: [row[i].strip() for row in rows] for i, name in enumerate(names)}
        return self._examples([column[name] for name in self.text], column[self.label], str(path))

    def _from_hub(self, split: str) -> Examples:
        import pandas as pd

        path = hub.dataset_file(
            HUB,
            f"{self.config}/{split}-00000-of-00001.parquet",
            what=self.config,
            otherwise=f"set BENCH_DATA_DIR to a folder that holds glue/{self.task}/*.tsv, or use --dataset demo",
        )
        table = pd.read_parquet(path)
        labels: list[Any] = table["label"].tolist()
        named = [self.classes[int(y)] for y in labels] if self.classes else labels
        return self._examples([table[c].astype(str).tolist() for c in self.hub_text], named, str(path))

    def _examples(self, columns: list[list[str]], labels: list[Any], where: str) -> Examples:
        texts = [PAIR.join(" ".join(part.split()) for part in row) for row in zip(*columns, strict=True)]
        if not self.classes:
            try:
                return Examples(texts, [float(y) for y in labels])
            except ValueError as error:
                raise DataError(f"{where}: a score is not a number ({error})") from error
        number = {name: i for i, name in enumerate(self.classes)}
        unknown = [y for y in labels if y not in number]
        if unknown:
            raise DataError(f"{where}: label {unknown[0]!r} is none of {', '.join(self.classes)}")
        return Examples(texts, [number[y] for y in labels], self.classes)


@dataset("cola", paper="Warstadt et al. 2019", public="mnli", metrics=("mcc",))
@dataclass(frozen=True)
class CoLA(Glue):
    """Single sentences, grammatically acceptable or not."""

    task, config, header = "CoLA", "cola", False
    text, label, hub_text = ("3",), "1", ("sentence",)


@dataset("sst2", paper="Socher et al. 2013", public="mnli")
@dataclass(frozen=True)
class SST2(Glue):
    """Phrases of film reviews, negative or positive."""

    task, config = "SST-2", "sst2"
    text, hub_text = ("sentence",), ("sentence",)


@dataset("mrpc", paper="Dolan and Brockett 2005", public="mnli", metrics=("f1", "accuracy"))
@dataclass(frozen=True)
class MRPC(Glue):
    """Pairs of news sentences, paraphrases or not."""

    task, config = "MRPC", "mrpc"
    text, label = ("#1 String", "#2 String"), "Quality"


@dataset("stsb", paper="Cer et al. 2017", public="mnli", metrics=("pearson", "spearman"))
@dataclass(frozen=True)
class STSB(Glue):
    """Pairs of sentences with a similarity from 0 to 5: a regression."""

    task, config = "STS-B", "stsb"
    label, classes = "score", ()


@dataset("rte", paper="Dagan et al. 2005; Bar Haim et al. 2006", public="mnli")
@dataclass(frozen=True)
class RTE(Glue):
    """Pairs of sentences, the second entailed by the first or not."""

    task, config = "RTE", "rte"
    classes = ("entailment", "not_entailment")


@dataset("qnli", paper="Rajpurkar et al. 2016; Wang et al. 2019", public="mnli")
@dataclass(frozen=True)
class QNLI(Glue):
    """A question and a sentence that answers it or does not."""

    task, config = "QNLI", "qnli"
    text, hub_text = ("question", "sentence"), ("question", "sentence")
    classes = ("entailment", "not_entailment")


@dataset("qqp", paper="Quora question pairs", public="mnli", metrics=("f1", "accuracy"))
@dataclass(frozen=True)
class QQP(Glue):
    """Pairs of questions, duplicates or not."""

    task, config = "QQP", "qqp"
    text, hub_text, label = ("question1", "question2"), ("question1", "question2"), "is_duplicate"


@dataset("mnli", paper="Williams et al. 2018", public="sst2")
@dataclass(frozen=True)
class MNLI(Glue):
    """Pairs of sentences: entailment, neutral or contradiction; dev is the matched part."""

    task, config = "MNLI", "mnli"
    label, classes = "gold_label", NLI
    dev, hub_dev = "dev_matched", "validation_matched"
    hub_text = ("premise", "hypothesis")
