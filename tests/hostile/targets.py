"""What each kind of hostile input is handed to. A target returns where the input was refused or taken, in one line to
the user; any other exception than those named here is a bug."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import socket
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from hypothesis import strategies as st

from bench.cli.main import main
from bench.errors import BenchError
from tests.helpers.cli import PLUGINS
from tests.hostile import payloads

TOY = str(PLUGINS / "toy.py")
# Lines that a user may be told: more is a traceback, or somebody's text printed as it was.
MOST_LINES = 40


class Kind(NamedTuple):
    strategy: st.SearchStrategy[Any]
    target: Callable[[Any], None]
    share: float
    """of all inputs of a fuzzing run"""


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """An empty folder to be in, and no way to models, data or the hub."""
    before, folder = Path.cwd(), Path(tempfile.mkdtemp(prefix="hostile"))
    kept = {name: os.environ.get(name) for name in ("BENCH_DATA_DIR", "BENCH_MODELS_DIR", "HF_HUB_OFFLINE")}
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.pop("BENCH_DATA_DIR", None), os.environ.pop("BENCH_MODELS_DIR", None)
    os.chdir(folder)
    try:
        with _fast():
            yield folder
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in kept.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


@contextlib.contextmanager
def _fast() -> Iterator[None]:
    """Plugins are looked for and the parser is made once, not for each of a hundred thousand inputs."""
    from bench.cli import main as cli
    from bench.plugins import registry

    found = {name: list(getattr(registry, name)()) for name in ("_built_in", "_installed")}
    with contextlib.ExitStack() as stack:
        for name, entries in found.items():
            stack.enter_context(mock.patch.object(registry, name, lambda entries=entries: iter(entries)))
        made = cli.parser()
        stack.enter_context(mock.patch.object(cli, "parser", return_value=made))
        yield


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    said = io.StringIO()
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield said
    finally:
        logging.disable(logging.NOTSET)


def call(*words: str) -> int:
    """The command line, in this process: it must end with a status, whatever it is given."""
    with quiet() as said:
        try:
            status = main(list(words))
        except SystemExit as end:  # argparse
            status = end.code if isinstance(end.code, int) else 2
    text = said.getvalue()
    assert "Traceback" not in text, text
    assert status == 0 or len(text.splitlines()) <= MOST_LINES, text[:2000]
    return status


def record(text: str) -> None:
    from bench.board import build
    from bench.board.record_columns import RecordLine
    from bench.board.render import csv
    from bench.board.render.front_page import front_page
    from bench.board.render.markup import latex, markdown
    from bench.board.render.page_data import packed
    from bench.board.render.suite_page import suite_page
    from bench.experiment import integrity
    from bench.experiment.identity import identity
    from bench.experiment.replay import open_record, subject_of
    from bench.plugins.registry import Registry
    from bench.records import store
    from bench.records.model import AttackRecord, UtilityRecord

    path = Path("records") / "demo.minilm.none.rss.s0.0123456789abcdef.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    if zlib.crc32(path.read_bytes()) % 8 == 0:  # commands take longer than all the rest
        call("show", str(path))
        call("records", "verify", "--results", "records")
    with quiet(), contextlib.suppress(BenchError):
        old = open_record(path)
        subject_of(Registry(), old)
    with quiet(), contextlib.suppress(BenchError):
        # Whoever forges a record gives it the id of what it says was asked.
        made = store.parse(path)
        made = made.replace(id=identity(made.to_dict()))
        if integrity.problems(made):
            return
        attacks = [made] if isinstance(made, AttackRecord) else []
        utility = [made] if isinstance(made, UtilityRecord) else []
        board = build.build(attacks, utility)
        markdown(front_page(board))
        for name in board.suites:
            markdown(suite_page(board, name)), latex(suite_page(board, name))
        packed(board), board.dump()
        csv.attacks([RecordLine(r) for r in attacks]), csv.utility([RecordLine(r) for r in utility])


def suite(content: bytes) -> None:
    Path("hostile.toml").write_bytes(content)
    command = "utility" if zlib.crc32(content) % 4 == 0 else "run"
    call(command, "--suite", "hostile.toml", "--dry-run", "--plugin", TOY)


def data_file(file: tuple[str, bytes]) -> None:
    from bench.plugins.registry import Registry

    suffix, content = file
    path = Path(f"hostile{suffix}")
    path.write_bytes(content)
    dataset = Registry().make("dataset", f"file:{path}")
    for split in ("train", "public", "dev"):
        with quiet(), contextlib.suppress(BenchError):
            dataset.load(split)


def command(words: list[str]) -> None:
    call("run", "--dry-run", "--plugin", TOY, *words)


def other_command(words: list[str]) -> None:
    last = ["--dry-run"] if words[0] == "utility" else []
    if words[:2] == ["plugin", "check"] and words[-1] in payloads.WORDS[-12:]:
        return  # a plugin of this project, whose checks take a minute
    call(*words, *last)


def weights(content: bytes) -> None:
    from bench.encoders import weights as encoder_weights
    from bench.plugins.registry import Registry

    folder = Path("model")
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(content)
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_size": 8}')
    with quiet(), contextlib.suppress(BenchError):
        encoder_weights.fingerprint(folder)
        encoder = Registry().make("encoder", f"hub:{folder.resolve()}")
        with contextlib.suppress(Exception):  # the cell's record says so; test_hostile has the command
            encoder.encode(["a sentence"])


def message(content: bytes) -> None:
    """The parent's side of the talk with an attack, and what it makes of a guess."""
    from bench.isolation import dialogue, guess
    from bench.scoring.kinds import Expected

    mine, theirs = socket.socketpair()
    with mine, theirs:
        theirs.settimeout(5)
        theirs.sendall(content)
        theirs.shutdown(socket.SHUT_WR)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it would be printed to the user
            reply = dialogue.listen(mine, time.monotonic() + 5, "late", lambda vectors: vectors, lambda text: None)
    assert reply.status in ("ok", "failed", "gone"), "a message that is there does not take so long"
    if reply.guess is not None:
        for modality, shape, batch in (("text", (), 0), ("text", (), 2), ("images", (1, 2, 2), 0)):
            guess.check(reply.guess, Expected(modality, 4, 2, 6, 4, shape, batch))


def environment(given: tuple[dict[str, str], list[str]]) -> None:
    variables, words = given
    with mock.patch.dict(os.environ, variables):
        call(*words, *(["--plugin", TOY] if words[0] == "run" else []))


NUMERIC = {"dp-ie-gaussian": "epsilon", "dp-ie-laplace": "epsilon", "texthide": "m", "mix-only": "k"}


def release(given: tuple[str, Any]) -> None:
    """What a defense makes of a number, and what becomes of its notes in a record."""
    import numpy as np

    from bench.plugins.registry import Registry
    from tests.helpers.records import bare_record

    name, number = given
    if name not in ("dp-ie-gaussian", "dp-ie-laplace") and isinstance(number, int | float) and abs(number) > 64:
        return  # memory is for the attack's limits, and time for nobody's patience
    with quiet(), contextlib.suppress(BenchError):
        defense = Registry().make("defense", f"{name}:{NUMERIC[name]}={number}")
        rng = np.random.default_rng(0)
        try:
            made, _ = defense.release(np.ones((6, 4), dtype=np.float32), np.eye(2)[[0, 1] * 3], None, rng, epochs=1)
        except Exception:
            return  # the cell's record says so
        bare_record().replace(notes=made.notes)


KINDS = {
    "records": Kind(payloads.records(), record, 0.25),
    "suites": Kind(payloads.suites(), suite, 0.10),
    "data files": Kind(payloads.data_files(), data_file, 0.15),
    "commands": Kind(payloads.commands(), command, 0.15),
    "messages": Kind(payloads.messages(), message, 0.15),
    "environment": Kind(payloads.environments(), environment, 0.05),
    "other commands": Kind(payloads.other_commands(), other_command, 0.10),
    "weights": Kind(payloads.weights(), weights, 0.02),
    "releases": Kind(st.tuples(st.sampled_from(sorted(NUMERIC)), payloads.numbers), release, 0.03),
}
