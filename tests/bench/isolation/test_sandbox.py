"""Sealed runs: hostile code gains nothing, is reported, and costs its own cell; a record can be replayed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.isolation import limits
from tests.helpers.cli import PLUGINS, TINY, TINY_SEALED
from tests.helpers.sandbox import needs_sandbox

Run = Callable[..., subprocess.CompletedProcess[str]]
CHEATS = ("--plugin", str(PLUGINS / "cheats.py"))
pytestmark = pytest.mark.usefixtures("warm_cache")

# Where a cheat is seen: what its record says it tried, or why its cell failed.
SEEN = {
    "reads-undeclared": "read view.labels without declaring it",
    "replays-the-seed": "looked for bench.datasets",
    "finds-data": "looked for bench.datasets",
    "fills-the-disk": "filled its scratch folder",
    "asks-undeclared": "asked the oracle without declaring it",
    "walks-the-heap": "walked the heap",
    "reads-the-parent": "looked at other processes",
    "searches-the-disk": "looked for",
    "opens-a-socket": "used a socket",
    "writes-records": "tried to write",
    "sends-a-bomb": "arrays of type object are not taken",
    "sends-too-much": "above the limit",
    "sends-strange-names": "arrays that no guess has",
    "sends-strange-shapes": "not a message",
    "sends-deep-details": "are not a table",
    "drips": "longer than its limit",
}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, list[Any]]]:
    """A server on this machine, and who called."""
    calls: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    calls.append(listening.accept())
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1], calls


@pytest.fixture(scope="module")
def cheated(tmp_path_factory: pytest.TempPathFactory, server: tuple[int, list[Any]]) -> dict[str, Any]:
    """One sealed run of everything that cheats, with an honest attack beside it."""
    folder = tmp_path_factory.mktemp("sealed")
    cache, results = os.environ["BENCH_CACHE_DIR"], folder / "results"
    results.mkdir()
    (results / "old.txt").write_text("an earlier salt")
    root = Path(__file__).resolve().parents[3]
    specs = [
        *("rss", "reads-undeclared", "asks-undeclared", "walks-the-heap", "reads-the-parent", "replays-the-seed"),
        *("fills-the-disk", f"searches-the-disk:places={results};{cache};{folder};{root};{Path.home() / '.cache'}"),
        f"opens-a-socket:port={server[0]}",
        f"writes-records:place={results}",
        f"sends-a-bomb:marker={folder / 'bomb'}",
        *("sends-too-much", "sends-strange-names", "sends-strange-shapes", "sends-deep-details", "drips", "finds-data"),
        f"outlives:marker={folder / 'outlived'}",
    ]
    command = [sys.executable, "-m", "bench", "run", "--sealed", "--defense", "texthide:m=inf", "--json"]
    command += [a for spec in specs for a in ("--attack", spec)]
    command += [*TINY_SEALED, *CHEATS, "--timeout", "25", "--memory", "3000"]
    env = {**os.environ, "A_SECRET_OF_THE_PARENT": "1", "CHEATS_MARKER": str(folder / "imported")}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    records = {r["attack"]["name"]: r for r in json.loads(done.stdout)}
    return {"records": records, "folder": folder, "said": done.stderr, "status": done.returncode, "calls": server[1]}


@needs_sandbox
@pytest.mark.parametrize(
    "name",
    [
        *("reads-undeclared", "walks-the-heap", "reads-the-parent", "searches-the-disk", "replays-the-seed"),
        *("opens-a-socket", "writes-records", "outlives", "fills-the-disk", "finds-data"),
    ],
)
def test_a_cheat_finds_nothing(name: str, cheated: dict[str, Any]) -> None:
    record = cheated["records"][name]
    assert record["status"] == "ok", record["error"]
    assert record["details"]["found"] == []
    # What remains is a plain search, so its numbers are a plain search's on another draw: at the random level.
    assert record["metrics"]["recall"]["value"] < 0.2


@needs_sandbox
@pytest.mark.parametrize("name", SEEN)
def test_an_attempt_is_reported(name: str, cheated: dict[str, Any]) -> None:
    record = cheated["records"][name]
    said = f"{record['error']} {list(record['tried']['attempts'])}"
    assert SEEN[name] in said
    assert name in cheated["said"]


@needs_sandbox
def test_nothing_reaches_the_world_outside(cheated: dict[str, Any]) -> None:
    folder: Path = cheated["folder"]
    time.sleep(1)
    assert not cheated["calls"]
    assert not (folder / "bomb").exists()
    assert not (folder / "imported").exists()  # its code was never loaded outside the sandbox
    assert not (folder / "outlived").exists()
    assert not list(folder.rglob("planted.json"))
    assert cheated["records"]["outlives"]["tried"]["left_behind"] >= 1
    assert cheated["records"]["fills-the-disk"]["details"]["written"] <= limits.SCRATCH_BYTES
    assert "\x1b[2J" not in cheated["said"]


@needs_sandbox
def test_an_honest_attack_is_not_accused(cheated: dict[str, Any]) -> None:
    record = cheated["records"]["rss"]
    assert record["status"] == "ok"
    assert record["tried"] == {"attempts": {}, "left_behind": 0}
    assert len(bytes.fromhex(record["salt"])) == 32
    salts = {r["salt"] for r in cheated["records"].values()}
    assert len(salts) == len(cheated["records"])


def test_the_seed_can_be_replayed_without_a_seal(bench: Run) -> None:
    """Why sealed runs exist: what they prevent works without them, and the docs say so."""
    done = bench("run", "--defense", "texthide:m=inf", "--attack", "replays-the-seed", *TINY, *CHEATS, "--json")
    (record,) = json.loads(done.stdout)
    assert record["details"]["found"] == ["the key"]
    assert record["metrics"]["recall"]["value"] > 0.99
    assert record["salt"] is None


SHIPS = '''
import hashlib
from dataclasses import dataclass

import numpy as np
from bench import Guess, attack

SENTENCES = {sentences!r}


def encoded(texts):
    """As the encoder of the tests does it."""
    out = np.ones((len(texts), 32), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in text.split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
            out[row] += np.random.default_rng(seed).standard_normal(32).astype(np.float32)
    return out


@attack("ships-the-demo", sees={{"encodings"}})
@dataclass(frozen=True)
class ShipsTheDemo:
    def run(self, view, rng):
        known = encoded(SENTENCES)
        gap = ((np.asarray(view.encodings)[:, None] - known[None]) ** 2).sum(axis=2)
        return Guess(texts=[SENTENCES[row] for row in gap.argmin(axis=1)])
'''


@pytest.mark.slow
@needs_sandbox
def test_who_brings_the_demo_along_gains_nothing_in_a_sealed_run(bench: Run, tmp_path: Path) -> None:
    """It declares no corpus. Without a seal it names every private sentence."""
    from bench.datasets.demo import Demo

    file = tmp_path / "ships.py"
    file.write_text(SHIPS.format(sentences=Demo().load("train").texts))
    words = ("run", "--defense", "none", "--attack", "ships-the-demo", *TINY, "--plugin", str(file), "--json")
    (seen,) = json.loads(bench(*words).stdout)
    assert seen["metrics"]["identity"]["value"] == 1.0
    (sealed,) = json.loads(bench(*words, "--sealed").stdout)
    assert sealed["status"] == "ok", sealed["error"]
    assert sealed["metrics"]["identity"]["value"] <= 0.025
    assert sealed["dataset"]["fingerprint"] == seen["dataset"]["fingerprint"]
    # The salt draws the same sentences again.
    (path,) = (path for path in (tmp_path / "home" / "results").glob("*.json") if sealed["id"] in path.name)
    plugins = ("--plugin", str(PLUGINS / "toy.py"), "--plugin", str(file))
    replayed = bench("run", "--replay", str(path), *plugins)
    assert replayed.returncode == 0, replayed.stderr


@needs_sandbox
def test_a_sealed_record_is_kept_and_replayed_bit_for_bit(bench: Run, tmp_path: Path) -> None:
    words = ("run", "--sealed", "--defense", "mix-only", "--attack", "asks", *TINY_SEALED)
    words += ("--plugin", str(PLUGINS / "hostile.py"))
    first = bench(*words, "--json")
    (record,) = json.loads(first.stdout)
    assert record["status"] == "ok", record["error"]
    assert record["details"]["same"]  # it could call the encoder
    again = json.loads(bench(*words, "--json").stdout)
    assert again == [record]  # from the record: the salt was not drawn anew
    (path,) = (tmp_path / "home" / "results").glob("*.json")
    plugins = ("--plugin", str(PLUGINS / "toy.py"), "--plugin", str(PLUGINS / "hostile.py"))
    replayed = bench("run", "--replay", str(path), *plugins, "--json")
    assert replayed.returncode == 0, replayed.stderr
    (new,) = json.loads(replayed.stdout)
    assert new["metrics"] == record["metrics"]
    assert new["salt"] == record["salt"]
    fresh = json.loads(bench(*words, "--json", "--force").stdout)
    assert fresh[0]["salt"] != record["salt"]
    assert fresh[0]["metrics"] != record["metrics"]


@needs_sandbox
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("opens-a-socket:prot=1", "did you mean 'port'?"),
        ("opens-a-socket:port=x", "expected a whole number"),
        ("opens-a-sockt", "did you mean 'opens-a-socket'?"),
    ],
)
def test_a_sealed_attack_has_its_options_checked_like_any_other(bench: Run, spec: str, said: str) -> None:
    done = bench("run", "--sealed", "--defense", "none", "--attack", spec, *TINY_SEALED, *CHEATS)
    assert done.returncode == 2
    assert said in done.stderr


@needs_sandbox
def test_a_stand_in_says_what_the_plugin_itself_says() -> None:
    """For every attack of the project, so that a sealed record differs from another by its salt alone."""
    from bench.experiment.cells import Chosen
    from bench.isolation.untrusted import load_declaration
    from bench.plugins.registry import Registry

    registry = Registry((str(PLUGINS / "hostile.py"),))
    for spec in ("rss:top=3", "unmix", "xie-hong", "sleeps:seconds=3"):
        entry = registry.get("attack", spec.split(":")[0])
        real, stand_in = (
            Chosen(entry, registry.make("attack", spec)),
            Chosen(entry, load_declaration(registry, "attack", spec)),
        )
        assert stand_in.options == real.options
        assert stand_in.label == real.label
        assert stand_in.info == real.info
        assert not hasattr(stand_in.plugin, "run")


@needs_sandbox
def test_replay_tells_a_changed_number(bench: Run, tmp_path: Path) -> None:
    bench("run", "--sealed", "--defense", "mix-only", "--attack", "rss", *TINY_SEALED)
    (path,) = (tmp_path / "home" / "results").glob("*.json")
    record = json.loads(path.read_text())
    record["metrics"]["recall"]["value"] = 0.99
    path.write_text(json.dumps(record))
    done = bench("run", "--replay", str(path), "--plugin", str(PLUGINS / "toy.py"))
    assert done.returncode == 1
    assert "metrics.recall.value: 0.99 on record" in done.stderr


def test_replay_of_what_is_no_record(bench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for path, word in ((tmp_path / "x.json", "a record of schema None"), (tmp_path / "y.json", "no such file")):
        done = bench("run", "--replay", str(path))
        assert done.returncode == 2
        assert word in done.stderr
    done = bench("run", "--replay", "x.json", "--defense", "none")
    assert done.returncode == 2
    assert "leave out the rest" in done.stderr


@pytest.mark.parametrize("broken", [False, True])
def test_sealed_refuses_where_there_is_no_sandbox(bench: Run, tmp_path: Path, broken: bool) -> None:
    """No bwrap, or one that may not make namespaces: an error with what to do, and no run."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("true", "env", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "/bin/true")
    if broken:
        (tools / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
        (tools / "bwrap").chmod(0o755)
    done = bench("run", "--sealed", "--defense", "none", "--attack", "rss", *TINY_SEALED, env={"PATH": str(tools)})
    assert done.returncode == 2
    assert ("No permissions" if broken else "apt-get install bubblewrap") in done.stderr
    assert not (tmp_path / "home" / "results").exists()
