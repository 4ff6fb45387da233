from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bench.datasets.pictures import Pictures, TinyImagenet, reading
from bench.errors import DataError, UsageError

Image = pytest.importorskip("PIL.Image")
RNG = np.random.default_rng(0)


def write(path: Path, shape: tuple[int, ...] = (8, 8, 3), value: int | None = None) -> np.ndarray:
    path.parent.mkdir(parents=True, exist_ok=True)
    array = RNG.integers(0, 256, shape, dtype=np.uint8) if value is None else np.full(shape, value, np.uint8)
    Image.fromarray(array).save(path)
    return array


def test_a_folder_for_each_class_gives_labels(tmp_path: Path) -> None:
    arrays = {name: write(tmp_path / f"{name}.png") for name in ("cat/1", "cat/2", "dog/1")}
    found = Pictures(str(tmp_path)).load("train")
    assert found.texts == ["cat/1.png", "cat/2.png", "dog/1.png"]
    assert found.classes == ("cat", "dog")
    assert found.labels.tolist() == [0, 0, 1]
    assert found.images is not None
    np.testing.assert_allclose(found.images[2], arrays["dog/1"].transpose(2, 0, 1) / 255, atol=1e-6)
    with pytest.raises(DataError, match="no dev split"):
        Pictures(str(tmp_path)).load("dev")


def test_train_and_dev_may_lie_side_by_side(tmp_path: Path) -> None:
    for name in ("train/a/1", "train/b/2", "dev/a/3", "dev/b/4"):
        write(tmp_path / f"{name}.png", (8, 8))
    assert Pictures(str(tmp_path)).load("dev").texts == ["a/3.png", "b/4.png"]
    assert Pictures(str(tmp_path)).load("train").shape == (1, 8, 8)


def test_sizes_and_colours_are_made_the_same_where_asked(tmp_path: Path) -> None:
    write(tmp_path / "a/1.png", (8, 8, 3))
    write(tmp_path / "b/2.png", (12, 20))
    assert Pictures(str(tmp_path), side=6, colour="rgb").load("train").shape == (3, 6, 6)
    assert Pictures(str(tmp_path), side=6, colour="grey").load("train").shape == (1, 6, 6)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a/1.png": (8, 8, 3), "b/2.png": (9, 9, 3)}, "pictures of several sizes \\(8 × 8 and 9 × 9\\): give side=32"),
        ({"a/1.png": (8, 8, 3), "b/2.png": (8, 8)}, "2.png is grey, and pictures before it are in colour"),
        ({"a/1.png": (8, 12, 3)}, "12 × 8: give side=32 for squares"),
        ({"1.png": (8, 8, 3)}, "has no label: put pictures into a folder for each class"),
        ({"a/1.txt": None}, "holds no pictures"),
        ({"a/1.png": None}, "1.png in .* cannot be read as a picture"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, files: dict[str, tuple[int, ...] | None], said: str
) -> None:
    for name, shape in files.items():
        if shape is None:
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_bytes(b"junk")
        else:
            write(tmp_path / name, shape)
    with pytest.raises(DataError, match=said) as raised:
        Pictures(str(tmp_path)).load("train")
    assert "\n" not in str(raised.value)


def test_a_cut_file_and_equal_pictures_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a/1.jpg", (32, 32, 3))
    data = (tmp_path / "a/1.jpg").read_bytes()
    (tmp_path / "a/1.jpg").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match="cannot be read as a picture"):
        Pictures(str(tmp_path)).load("train")
    for name in ("1", "2"):
        write(tmp_path / f"flat/a/{name}.png", value=9)
    with pytest.raises(DataError, match=r"all pictures in .* are the same"):
        Pictures(str(tmp_path / "flat")).load("train")
    with pytest.raises(UsageError, match="no folder"):
        Pictures(str(tmp_path / "absent")).load("train")


def test_of_many_files_a_draw_is_read_whatever_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"a/{i}.png" for i in range(1000)]
    monkeypatch.setattr(reading, "_names", lambda root: iter(names))
    some = reading.listed(tmp_path, 10)
    monkeypatch.setattr(reading, "_names", lambda root: iter(names[::-1]))
    assert reading.listed(tmp_path, 10) == some
    assert len(some) == 10
    assert some != sorted(names)[:10]


def test_of_a_million_names_only_those_that_are_read_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_names", lambda root: (f"folder/{i:09}.png" for i in range(100_000)))
    tracemalloc.start()
    try:
        assert len(reading.listed(tmp_path, 100)) == 100
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20  # a list of them would take some 7 MiB


def test_public_crops_have_texture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    for i in range(4):
        write(tmp_path / f"raw/{i}.png", (64, 64, 3))
    write(tmp_path / "raw/flat.png", (64, 64, 3), value=100)
    (tmp_path / "public").mkdir()
    with zipfile.ZipFile(tmp_path / "public" / "tiny-imagenet-test.zip", "w") as archive:
        for path in (tmp_path / "raw").iterdir():
            archive.write(path, path.name)
    crops = TinyImagenet().load("public")
    assert crops.shape == (3, 32, 32)
    assert crops.texts == ["0.png", "1.png", "2.png", "3.png"]
    assert crops.images is not None
    assert min(map(reading.texture, crops.images)) >= reading.TEXTURE
    assert np.array_equal(TinyImagenet().load("public").images, crops.images)
    whole = Pictures(str(tmp_path / "raw"), side=32, patches="whole").load("public")
    assert len(whole) == 5
    with pytest.raises(DataError, match="smaller than side=100"):
        TinyImagenet(side=100).load("public")
    with pytest.raises(DataError, match="it is for --public"):
        TinyImagenet().load("train")


def test_a_cross_cell_mixes_public_pictures(tmp_path: Path) -> None:
    """From the command's words to the release, and text among pictures is refused."""
    from bench.experiment import setup
    from bench.experiment.cells import cells
    from bench.plugins.registry import Registry

    for i in range(6):
        write(tmp_path / f"public/{i}.png", (20, 20))
    axes = {"dataset": ["digits"], "encoder": ["pixels"], "defense": ["instahide-cross:k=4"], "attack": ["dlg"]}
    public = f"pictures:{tmp_path / 'public'},side=8"
    (cell,) = cells(Registry(), axes, {"public": public, "examples": 10})
    assert "corpus" in cell.sees
    scene = setup.build(cell, device="cpu", progress=lambda text: None)
    assert scene.public is not None
    assert scene.public.vectors.shape == (6, 64)
    assert scene.release.encodings.shape == (10, 64)
    with pytest.raises(UsageError, match="'demo' holds text, which cannot be mixed"):
        cells(Registry(), axes, {"public": "demo"})
