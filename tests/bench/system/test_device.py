"""What is asked to run on a GPU runs there: no code path pins a tensor to the CPU, and --device reaches everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bench import Corpus, Release, mixing, search
from bench.attacks.dlg import DLG
from bench.attacks.rep_recon import RepRecon
from bench.attacks.unmix import Unmix
from bench.attacks.xie_hong.similarity import Network, Shadow, train
from bench.cli.main import main
from bench.defenses.texthide import TextHide
from bench.encoders import batching
from bench.encoders.lenet import LeNet
from bench.errors import UsageError
from bench.isolation import view as views
from bench.surfaces.labels import Labels
from bench.system import device
from bench.training import frozen as training_module
from tests.helpers.fake_gpu import FakeGpu, on_gpu
from tests.helpers.scenarios import image_scenario, surfaces_of, text_scenario

RNG = np.random.default_rng
VECTORS = (RNG(0).standard_normal((150, 16)) * np.linspace(1, 0.2, 16) + 1).astype(np.float32)
CORPUS = Corpus([str(i) for i in range(len(VECTORS))], VECTORS)


# The pretended GPU itself: what is wrong on a real one must not pass.


def test_a_tensor_left_on_the_cpu_is_caught() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(3)

    with FakeGpu():
        x = torch.ones(3, device="cuda")
        assert (x.device.type, x.cpu().device.type, x.is_cuda) == ("cuda", "cpu", True)
        with pytest.raises(RuntimeError, match=r"same device.*test_device"):
            wrong(x)
        assert on_gpu(x + torch.zeros(3, device=x.device) + torch.tensor(1.0))


def test_work_that_passes_the_gpu_by_is_caught() -> None:
    def wrong(values: np.ndarray, device: str) -> np.ndarray:
        x = torch.as_tensor(values)  # the device was asked for, and forgotten
        return (x @ x.T).numpy()

    with FakeGpu() as gpu:
        wrong(VECTORS, "cuda")
    assert len(gpu.pinned) == 1
    assert "test_device" in gpu.pinned[0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.numpy(),
        lambda x: torch.ones(3)[x.long()],
        lambda x: torch.stack([x, torch.ones(3)]),
        lambda x: torch.nn.Linear(3, 3)(x),
        lambda x: torch.rand(3, generator=torch.Generator(), device=x.device),
    ],
)
def test_other_mistakes_are_caught(wrong: Callable[[torch.Tensor], Any]) -> None:
    with FakeGpu(), pytest.raises((RuntimeError, TypeError)):
        wrong(torch.ones(3, device="cuda"))


# The project's own code on it. Each gives the same answer as on the CPU, because the arithmetic is the same.


def search_path(where: str) -> Any:
    return search.nearest(VECTORS[:40] + 0.1, VECTORS, 3, device=where)


def rep_recon_path(where: str, folder: Path) -> Any:
    release = Release(VECTORS[:20], np.zeros((20, 1)))
    views.write(folder, ("corpus", "encodings", "oracle"), surfaces_of(release), device=where, corpus=CORPUS)
    view = views.View(folder, oracle=lambda values: values)
    return RepRecon(epochs=2, hidden=8, batch=32).run(view, RNG(0)).ranking


def unmix_path(where: str) -> Any:
    defense = TextHide(m=4, k=2)
    released, _ = defense.release(VECTORS[:60], np.zeros((60, 1), np.float32), None, RNG(1))
    known = SimpleNamespace(
        name="texthide",
        options={"m": 4, "k": 2},
        release=lambda v, y, rng, epochs=1: defense.release(v, y, None, rng, epochs=epochs),
    )
    corpus = Corpus(CORPUS.texts, CORPUS.vectors, where)
    facts = {"encodings": released.encodings, "corpus": corpus, "defense": known, "device": where}
    return Unmix().run(SimpleNamespace(**facts, stage=lambda text: None), RNG(0)).ranking  # type: ignore[arg-type]


def dlg_path(where: str, folder: Path, **options: Any) -> Callable[[], Any]:
    scenario = image_scenario(n=3, d=6)
    released = {"labels": Labels(scenario.labels), "gradients": scenario.source}
    scheme = {"name": "texthide", "options": {"m": 1, "k": 1}}
    views.write(folder, ("gradients", "labels", "corpus", "defense"), released, device=where, defense=scheme)
    view = views.View(folder, make=lambda kind, facts: TextHide(**facts["options"]))
    return lambda: DLG(steps=2, precision="float64", **options).run(view, RNG(0)).images


def dlg_text_path(where: str, folder: Path) -> Callable[[], Any]:
    scenario = text_scenario()
    released = {"labels": Labels(scenario.labels), "gradients": scenario.source}
    corpus = Corpus([str(i) for i in range(len(scenario.vectors))], scenario.vectors)
    scheme = {"name": "texthide", "options": {"m": 3, "k": 2}}
    sees = ("gradients", "labels", "corpus", "defense")
    views.write(folder, sees, released, device=where, defense=scheme, corpus=corpus)
    view = views.View(folder, make=lambda kind, facts: TextHide(**facts["options"]))
    return lambda: DLG(steps=2).run(view, RNG(0)).ranking


def head_path(where: str) -> Any:
    labels = np.eye(2, dtype=np.float32)[(VECTORS[:, 0] > 1).astype(int)]
    quiet = {"progress": lambda text: None, "seed": 0, "device": where, "classes": True}
    training = training_module.Training(epochs=2)
    return training_module.fit(VECTORS, labels, (VECTORS, VECTORS), lambda scores: (0.0,), training=training, **quiet)[
        0
    ]


def encoder_path(where: str) -> Any:
    def tokenizer(first: list[str], second: Any, **more: Any) -> dict[str, list[list[int]]]:
        ids = [[len(word) for word in text.split()] for text in first]
        return {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids]}

    tokenizer.pad_token_id = 0  # type: ignore[attr-defined]
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Embedding(20, 4), torch.nn.Linear(4, 4)).to(where)
    texts = ["a few words", "one", "some more words here"]
    return batching.encode_batches(lambda batch: network(batch["input_ids"])[:, 0], tokenizer, texts, 8, where)


def lenet_path(where: str) -> Any:
    return LeNet(d=6).encode(RNG(0).random((5, 1, 8, 8), dtype=np.float32), device=where)


def mixing_path(where: str) -> Any:
    members, weights = np.array([[0, 1], [2, 3]]), np.full((2, 2), 0.5, np.float32)
    return mixing.mix(torch.as_tensor(VECTORS, device=where), members, weights).cpu().numpy()


# Each prepares, and answers with what is to run on the GPU: making gradients to attack is the victim's work.
PATHS: dict[str, Callable[[str, Path], Callable[[], Any]]] = {
    "search": lambda where, folder: lambda: search_path(where),
    "rep-recon": lambda where, folder: lambda: rep_recon_path(where, folder),
    "unmix": lambda where, folder: lambda: unmix_path(where),
    "dlg": dlg_path,
    "dlg, strong-wolfe": lambda where, folder: dlg_path(where, folder, search="strong-wolfe"),
    "dlg, adam": lambda where, folder: dlg_path(where, folder, optimizer="adam"),
    "dlg on text": dlg_text_path,
    "head": lambda where, folder: lambda: head_path(where),
    "encoder": lambda where, folder: lambda: encoder_path(where),
    "lenet": lambda where, folder: lambda: lenet_path(where),
    "mixing": lambda where, folder: lambda: mixing_path(where),
}


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_pinned_to_the_cpu(path: str, tmp_path: Path) -> None:
    runs = []
    for where in ("cpu", "cuda"):
        (tmp_path / where).mkdir()
        runs.append(PATHS[path](where, tmp_path / where))
    expected = runs[0]()
    with FakeGpu() as gpu:
        found = runs[1]()
    assert not gpu.pinned
    assert gpu.made
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_xie_hongs_network_is_not_pinned_to_the_cpu() -> None:
    shadow = Shadow(VECTORS, RNG(0).integers(0, 20, (len(VECTORS), 2)))
    with FakeGpu() as gpu:
        net = train([shadow], RNG(0), steps=2, batch=32, device="cuda")
        assert isinstance(net, Network)
        net.on(VECTORS).block(slice(0, 9), slice(0, 9))
    assert not gpu.pinned


def test_search_runs_on_the_gpu_and_names_the_same_rows() -> None:
    with FakeGpu() as gpu:
        found = search.nearest(VECTORS[:5], VECTORS, 2, device="cuda")
    assert gpu.made
    assert not gpu.pinned
    assert np.array_equal(found, search.nearest(VECTORS[:5], VECTORS, 2))


# From --device to the code above.


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_cuda", lambda: False)
    assert device.resolve("auto") == "cpu"
    with pytest.raises(UsageError, match="use --device cpu or auto"):
        device.resolve("cuda")
    monkeypatch.setattr(device, "_cuda", lambda: True)
    assert device.resolve("cuda:1") == "cuda:1"


class Stop(Exception):
    """Far enough: the device has arrived."""


@pytest.mark.parametrize("command", ["run", "utility"])
def test_every_command_passes_its_device_on(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from bench.scheduling import runner

    asked: list[str] = []

    def run(tasks: Any, settings: Any, *more: Any, **named: Any) -> Any:
        asked.append(settings.device)
        raise Stop

    monkeypatch.setattr(device, "_cuda", lambda: True)
    monkeypatch.setattr(runner, "run", run)
    words = [command, "--defense", "none", "--out", str(tmp_path), "--device", "cuda"]
    with pytest.raises(Stop):
        main([*words, "--attack", "rss"] if command == "run" else words)
    assert asked == ["cuda"]


def test_the_view_hands_the_device_to_the_attack_and_its_corpora(tmp_path: Path) -> None:
    views.write(
        tmp_path, ("corpus", "encodings"), surfaces_of(Release(VECTORS[:5], None)), device="cuda", corpus=CORPUS
    )
    view = views.View(tmp_path)
    assert (view.device, view.corpus.device) == ("cuda", "cuda")
