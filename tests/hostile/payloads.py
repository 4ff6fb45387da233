"""Inputs that mean harm, by kind, as hypothesis strategies: what a review found, and what resembles it."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.helpers.records import attack_record, failed_record, utility_record

# Texts that have broken something, here or elsewhere.
WORDS = (
    *(
        "",
        " ",
        "\n",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "ſelf",
        "[/red]",
        "[bold",
        "</script>",
        "{0}",
        "%s",
        "${x}",
    ),
    *("'; touch harmed; '", "$(touch harmed)", "../../../etc/passwd", "/proc/self/mem", "/dev/zero", "~nosuchuser/x"),
    *("a" * 300, "a" * 5000, "=1+1", "+1", "@x", "-1", "nan", "inf", "-inf", "1e309", "1.7e308", "1e-320", "007"),
    *(
        "NULL",
        "None",
        "true",
        "0x10",
        "１２",
        "١",
        "--help",
        "-",
        "--",
        ":",
        "=",
        ",",
        "x=",
        "=x",
        "a:b=c",
        "a:b=c,b=d",
    ),
    *(
        "main",
        "demo",
        "none",
        "rss",
        "texthide:m=1e400",
        "texthide:m=-1",
        "mix-only:k=10000000000",
        "hub:/",
        "hub:a/b/c",
    ),
)
NUMBERS = (
    *(0, -1, 1, 2**31, 2**63, 10**30, 10**400, -(10**400), 1e299, 1e100, -1e299, 1e-320, 0.1, 1.5, True, False),
    *(float("nan"), float("inf"), float("-inf")),
)

words = st.sampled_from(WORDS) | st.text(max_size=30)
numbers = st.sampled_from(NUMBERS) | st.integers() | st.floats()
scalars = st.none() | words | numbers
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4), max_leaves=12
)


def nested(depth: int) -> str:
    """JSON deeper than a parser can go."""
    return "[" * depth + "]" * depth


# --- records


def _parts(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        found += _parts(part, (*path, key))
    return found


BASES = [record.to_dict() for record in (attack_record(dataset="demo"), failed_record(), utility_record("none", 0.5))]
PLACES = [_parts(base) for base in BASES]


@st.composite
def records(draw: st.DrawFn) -> str:
    """The JSON of a record with some parts changed, left out or added; or no JSON at all."""
    which = draw(st.integers(0, len(BASES) - 1))
    record: Any = copy.deepcopy(BASES[which])
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(PLACES[which]))
        place = record
        for key in way:
            place = place[key] if _has(place, key) else None
        if not _has(place, last):
            continue
        action = draw(st.sampled_from(["change", "change", "drop", "add"]))
        if action == "change":
            place[last] = draw(values)
        elif action == "drop":
            del place[last]
        elif isinstance(place, dict):
            place[draw(words)] = draw(values)
    text = json.dumps(record, default=str)
    damage = draw(st.sampled_from([None] * 8 + ["cut", "deep", "bytes"]))
    if damage == "cut":
        return text[: draw(st.integers(0, len(text)))]
    if damage == "deep":
        return text.replace('"notes": {}', f'"notes": {{"a": {nested(100_000)}}}')
    return text if damage is None else "\ufeff" + text.replace('"', "\x00", 1)


def _has(place: Any, key: Any) -> bool:
    if isinstance(place, dict):
        return key in place
    return isinstance(place, list) and isinstance(key, int) and key < len(place)


# --- suites


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(part)}" for key, part in value.items()) + "}"
    return json.dumps("" if value is None else str(value))


KEYS = (
    *("title", "version", "differs", "dataset", "encoder", "defense", "attack", "seed", "examples", "epochs", "cells"),
    *("candidates", "coverage", "split", "public", "samples", "answers", "train_epochs", "nonsense"),
)


@st.composite
def suites(draw: st.DrawFn) -> bytes:
    lines = [f"{draw(st.sampled_from(KEYS))} = {_toml(draw(values))}" for _ in range(draw(st.integers(0, 5)))]
    if draw(st.booleans()):
        lines = ['dataset = "demo"', 'encoder = "toy"', 'defense = "none"', 'attack = "rss"', *lines]
    text = "\n".join(dict.fromkeys(lines)).encode("utf-8", "surrogatepass")
    damage = draw(st.sampled_from([None] * 8 + ["deep", "bytes"]))
    if damage == "deep":
        return b"a = " + nested(20_000).encode()
    return text + draw(st.binary(max_size=20)) if damage else text


# --- data files

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".txt", ".ndjson", "", ".exe")


@st.composite
def data_files(draw: st.DrawFn) -> tuple[str, bytes]:
    """The ending of a file's name, and its content."""
    suffix = draw(st.sampled_from(SUFFIXES))
    names = draw(st.lists(st.sampled_from(["text", "label", "text2", "score", "a\tb", ""]), max_size=4))
    rows = draw(st.lists(st.lists(values, max_size=4), max_size=6))
    if suffix in {".jsonl", ".ndjson"}:
        objects = [dict(zip(names, row, strict=False)) for row in rows]
        text = "\n".join(json.dumps(row, default=str) for row in [*objects, *draw(st.lists(values, max_size=1))])
    else:
        between = "\t" if suffix == ".tsv" else ","
        text = "\n".join(between.join(map(str, line)) for line in [names, *rows])
    damage = draw(st.sampled_from([None] * 6 + ["deep", "bytes", "parquet"]))
    if damage == "deep":
        text = '{"text": ' + nested(5_000) + "}"
    content = text.encode("utf-8", "surrogatepass")
    if damage == "bytes":
        content = draw(st.binary(max_size=100)) + content
    return suffix, b"PAR1" + content + b"PAR1" if damage == "parquet" else content


# --- the command line

FLAGS = (
    *("--defense", "--attack", "--dataset", "--encoder", "--seed", "--suite", "--examples", "--epochs", "--candidates"),
    *("--split", "--public", "--coverage", "--timeout", "--memory", "--device", "--jobs", "--executor", "--plugin"),
    *("--replay", "--out", "--nonsense"),
)
NAMES = {
    "--defense": ("none", "texthide", "mix-only", "dp-ie-gaussian", "dp-ie-laplace"),
    "--attack": ("rss", "unmix", "xie-hong", "dlg"),
    "--dataset": ("demo", "digits", "file", "cola"),
    "--encoder": ("toy", "minilm", "lenet", "hub"),
}
OPTIONS = ("m", "k", "epsilon", "top", "path", "text", "steps", "self", "ſelf", "__class__", "public", "d")
_spelled = words | numbers.map(str)


@st.composite
def specs(draw: st.DrawFn, flag: str) -> str:
    """`name:option=value,option=value`, or what looks like it."""
    name = draw(st.sampled_from(NAMES[flag]) | words)
    pairs = draw(st.lists(st.tuples(st.sampled_from(OPTIONS) | words, _spelled), max_size=4))
    many = draw(st.sampled_from([1] * 20 + [3000]))
    return name + (":" if pairs else "") + ",".join([f"{a}={b}" for a, b in pairs] * many)


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    """Arguments of `bench run`: names, options and sizes that mean harm."""
    found = ["--defense", "none", "--attack", "rss"] if draw(st.booleans()) else []
    for flag in draw(st.lists(st.sampled_from(FLAGS), max_size=4)):
        found += [flag, draw(specs(flag) if flag in NAMES else _spelled)]
    # The system hands over no argument with a zero byte, and none that is not text in its encoding.
    return [word.replace("\x00", "").encode("utf-8", "replace").decode() for word in found]


OTHER = (
    ("show",), ("list",), ("records", "verify", "--results"), ("records", "definitions"), ("leaderboard", "--results"),
    ("rescore",), ("plugin", "new"), ("plugin", "check"), ("records", "replay", "--sample"), ("utility", "--defense"),
    ("records", "replay", "--seed"), ("completion",), ("records", "stamp", "--reference"),
    ("plugin", "check", "--budget"),
)  # fmt: skip


@st.composite
def other_commands(draw: st.DrawFn) -> list[str]:
    """Another command with one hostile word."""
    words_before = draw(st.sampled_from(OTHER))
    word = draw(_spelled).replace("\x00", "").encode("utf-8", "replace").decode()
    return [*words_before, word]


# --- weights


@st.composite
def weights(draw: st.DrawFn) -> bytes:
    """A file in the format of safetensors that is cut, or whose header lies."""
    header: Any = {"weight": {"dtype": draw(st.sampled_from(["F32", "F16", "X9"])), "shape": draw(values),
                              "data_offsets": draw(st.sampled_from([[0, 4], [4, 0], [0, 2**63], []]))}}  # fmt: skip
    text = json.dumps(header if draw(st.booleans()) else draw(values), default=str).encode("utf-8", "replace")
    size = draw(st.sampled_from([len(text), 0, 2**63, len(text) * 2]))
    whole = size.to_bytes(8, "little") + text + b"\0" * 4
    return whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole


# --- what an attack's process sends

MESSAGES = ("stage", "oracle", "error", "guess", "guess", "guess", "answer")
FACTS = ("text", "reason", "traceback", "details", "used", "attempts", "texts", "readings", "written", "ordered")
ARRAYS = ("ranking", "vectors", "images", "confidence", "trail.steps", "trail.images", "trail.", "texts")
LENGTHS = (0, 1, 2, 4, 6, 8, 1 << 27, 1 << 62, -1, True, None, 1.5)


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """One or two messages: a head, facts and arrays that do not keep what was promised, or that no guess has."""
    return b"".join(draw(_message()) for _ in range(draw(st.integers(1, 2))))


@st.composite
def _message(draw: st.DrawFn) -> bytes:
    """Three of four keep the format, so that what they hold is looked at."""
    keeps = draw(st.integers(0, 3)) > 0
    facts = draw(st.dictionaries(st.sampled_from(FACTS) if keeps else words, values, max_size=4))
    body = json.dumps(facts, default=str).encode()
    small = st.lists(st.sampled_from([0, 1, 2, 4, 6]), max_size=4)
    shape = small if keeps else small | st.lists(st.sampled_from(LENGTHS), max_size=10)
    types = st.sampled_from(["float32", "float64", "int64", "bool", *([] if keeps else ["object", "U99999"])])
    arrays = draw(st.dictionaries(st.sampled_from(ARRAYS) if keeps else words, st.tuples(types, shape), max_size=2))
    head: Any = {"kind": draw(st.sampled_from(MESSAGES) if keeps else words), "facts": len(body), "arrays": arrays}
    content = bytes(draw(st.binary(max_size=64)))
    if keeps:
        size = sum(np.dtype(kind).itemsize * math.prod(lengths) for kind, lengths in arrays.values())
        content = (content * (size // max(1, len(content)) + 1) if content else bytes(size))[:size]
    else:
        damage = draw(st.sampled_from(["deep", "size", "head", "nothing"]))
        body = nested(20_000).encode() if damage == "deep" else body
        head = draw(values) if damage == "head" else head | {"facts": len(body) + (1 << 40) * (damage == "size")}
    text = json.dumps(head, default=str).encode()
    length = len(text) if keeps else draw(st.sampled_from([len(text)] * 4 + [1 << 63]))
    return length.to_bytes(8, "little") + text + body + content


# --- the environment

VARIABLES = (
    *("BENCH_CACHE_DIR", "BENCH_DATA_DIR", "BENCH_MODELS_DIR", "XDG_CACHE_HOME", "HOME", "COLUMNS", "TERM", "LANG"),
    *("NO_COLOR", "OMP_NUM_THREADS", "PYTHONHASHSEED", "TMPDIR", "SOURCE_DATE_EPOCH"),
)


@st.composite
def environments(draw: st.DrawFn) -> tuple[dict[str, str], list[str]]:
    """Variables, and a command that is run with them."""
    spelled = _spelled.map(lambda word: word.replace("\x00", "").encode("utf-8", "replace").decode())
    found = draw(st.dictionaries(st.sampled_from(VARIABLES), spelled, min_size=1, max_size=3))
    run = ["run", "--dry-run", "--defense", "none", "--attack", "rss", "--encoder", "toy"]
    # No data set that would be looked for on the hub: some who run this have asked it for something already.
    commands = ([*run, "--dataset", "demo"], ["cache"], ["list"], ["cache", "--json"])
    return found, list(draw(st.sampled_from(commands)))
