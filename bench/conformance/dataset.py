"""Conformance of data sets: splits that load, labels that fit, texts that differ, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrays import PAIR
from bench.conformance.checks import (
    CheckResult,
    CheckSettings,
    CheckTarget,
    describe_error,
    failed,
    noted,
    verdict,
)
from bench.errors import DataError
from bench.experiment.cells import Chosen
from bench.experiment.setup import load
from bench.training.judging import CLASSIFICATION, REGRESSION
from bench.types import Examples

SPLITS = ("train", "dev", "public")
HOME = Path(__file__).resolve().parents[2]
# Prints the fingerprint of a split; what it depends on must not be this process's memory, hash seed or folder.
AGAIN = """import sys
sys.path.append(sys.argv.pop(1))
from bench.plugins.registry import Registry
from bench.experiment.setup import load
print(load(Registry(tuple(sys.argv[3:])).make("dataset", sys.argv[1]), sys.argv[2])[1])"""


def run_checks(chosen: Chosen, target: CheckTarget, settings: CheckSettings) -> Iterator[CheckResult]:
    loaded: dict[str, Examples] = {}
    for split in SPLITS:
        start = time.monotonic()
        try:
            given: Any = chosen.plugin.load(split)
            if not isinstance(given, Examples):
                yield failed(f"loads {split}", f"load() gave {type(given).__name__}, not bench.Examples")
                continue
            loaded[split], fingerprint = load(chosen.plugin, split)
        except DataError as error:  # how a data set says that it has no such split
            yield noted(f"loads {split}", describe_error(error))
            continue
        except Exception as error:
            yield failed(f"loads {split}", f"{describe_error(error)} (for a missing split, raise bench.DataError)")
            continue
        took = time.monotonic() - start
        wrong = _malformed(loaded[split])
        if took > settings.budget:
            wrong = f"it took {took:.1f} s of {settings.budget:g}: make it faster, or raise --budget if it has to be"
        yield verdict(f"loads {split}", not wrong, f"{len(loaded[split]):,} examples in {took:.1f} s", wrong)
        yield _deterministic(target, split, fingerprint)
    yield verdict(
        "has a use",
        bool({"train", "public"} & loaded.keys()),
        "as private data" if "train" in loaded else "as a public corpus only",
        "neither train nor public can be loaded",
    )
    if "train" in loaded and "dev" in loaded:
        same = loaded["train"].classes == loaded["dev"].classes
        yield verdict("classes", same, _classes(loaded["train"]), "train and dev have different ones")
    yield from _declared(chosen, target)


def _malformed(examples: Examples) -> str:
    odd = {type(text).__name__ for text in examples.texts} - {"str"}
    if odd:
        return f"some texts are of type {', '.join(odd)}, not strings"
    empty = sum(not part.strip() for text in examples.texts for part in text.split(PAIR))
    if empty:
        return f"{empty} texts are empty: drop them"
    if any(text.count(PAIR) > 1 for text in examples.texts):
        return "a text holds more than one tab: a tab joins the two sentences of a pair"
    if len(set(examples.texts)) < 2:
        return "all texts are the same"
    if not np.isfinite(examples.labels).all():
        return "labels are not finite"
    if examples.classes and not 0 <= examples.labels.min() <= examples.labels.max() < len(examples.classes):
        return f"a label lies outside 0 … {len(examples.classes) - 1}"
    if len(set(examples.classes)) < len(examples.classes):
        return "two classes have the same name"
    return ""


def _deterministic(target: CheckTarget, split: str, fingerprint: str) -> CheckResult:
    what = f"{split} is the same in another process"
    command = [sys.executable, "-P", "-c", AGAIN, str(HOME), target.spec, split, *target.registry.files]
    # Another hash seed, so that an order taken from a set shows.
    env = {**os.environ, "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        return failed(what, (done.stderr.strip().splitlines() or ["it ended without an error message"])[-1])
    return verdict(
        what, done.stdout.split()[-1:] == [fingerprint], fingerprint, "other texts or labels, or another order"
    )


def _declared(chosen: Chosen, target: CheckTarget) -> Iterator[CheckResult]:
    info = chosen.info
    known = set(target.registry.of("dataset"))
    if not info.public:
        yield noted("public corpus", "names none: users choose one with --public where one is wanted")
    else:
        reason = f"{info.public!r} is no data set"
        yield verdict("public corpus", info.public in known, info.public, reason)
    odd = [name for name in info.metrics if name not in (*CLASSIFICATION, *REGRESSION)]
    said_metrics = ", ".join(info.metrics)
    yield verdict("metrics", not odd, said_metrics, f"{odd} are not among {', '.join((*CLASSIFICATION, *REGRESSION))}")


def _classes(examples: Examples) -> str:
    return ", ".join(examples.classes) if examples.classes else "none: labels are scores"
