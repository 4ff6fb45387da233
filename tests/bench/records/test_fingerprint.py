"""What changes the hash of a component, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.records.fingerprint import Reader

SOURCE = {
    "house.scoring": '''
"""Scores."""

from house import errors, numbers
from house.numbers import FACTOR as SCALE


def leak(values: list[float], smooth: bool = False) -> float:
    """The mean."""
    # a comment
    if not values:
        raise errors.Wrong(f"no values: {values}")
    return SCALE * numbers.mean(values, start=1)


class Scorer:
    """Keeps count."""

    rounds: int = 3

    def score(self, values: list[float]) -> float:
        def best(number: float) -> float:
            return max(number, leak(values))

        return best(0.0) * self.rounds
''',
    "house.numbers": """
import numpy as np

FACTOR = 2.0
UNUSED = 5


def mean(values, start=0):
    return np.mean(values) + start


def other():
    return UNUSED
""",
    "house.errors": '''
class Wrong(Exception):
    """Something is wrong."""
''',
}
ENTRIES = ("house.scoring:leak", "house.scoring:Scorer")


class House:
    """Source files in a folder, which can be changed and hashed."""

    def __init__(self, folder: Path, sources: dict[str, str] = SOURCE):
        self.folder = folder
        for module, text in sources.items():
            self.write(module, text)

    def write(self, module: str, text: str) -> None:
        path = self.path(module)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def path(self, module: str) -> Path:
        return self.folder.joinpath(*module.split(".")).with_suffix(".py")

    def change(self, module: str, old: str, new: str) -> None:
        text = self.path(module).read_text(encoding="utf-8")
        assert old in text
        self.write(module, text.replace(old, new))

    def locate(self, module: str) -> Path | None:
        path = self.path(module)
        return path if path.is_file() else None

    def reader(self) -> Reader:
        return Reader(self.locate, ("house.scoring", "house.numbers", "house.moved"))

    def hash(self, *entries: str) -> str:
        return self.reader().fingerprint(entries or ENTRIES)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        pytest.param("house.scoring", "# a comment", "# another one", id="a comment"),
        pytest.param("house.scoring", '"""The mean."""', '"""Something else."""', id="a docstring"),
        pytest.param("house.scoring", '"""Keeps count."""\n', "\n", id="no docstring"),
        pytest.param("house.scoring", "values: list[float], smooth: bool", "values, smooth: int", id="annotations"),
        pytest.param("house.scoring", "-> float:\n        def", "-> int:\n        def", id="a return annotation"),
        pytest.param("house.scoring", "rounds: int = 3", "rounds: float = 3", id="a field's annotation"),
        pytest.param("house.scoring", 'f"no values: {values}"', '"nothing to score"', id="an error's text"),
        pytest.param("house.scoring", "mean(values, start=1)", "mean(\n        values,\n        start=1)", id="format"),
        pytest.param("house.numbers", "UNUSED = 5", "UNUSED = 6", id="what nothing reaches"),
        pytest.param("house.numbers", "import numpy as np\n", "import numpy as np\nimport os\n", id="an import"),
        pytest.param("house.errors", '"""Something is wrong."""', "code = 3", id="code that decides no number"),
    ],
)
def test_what_cannot_change_a_number_changes_no_hash(house: House, module: str, old: str, new: str) -> None:
    before = house.hash()
    house.change(module, old, new)
    assert house.hash() == before


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        pytest.param("house.numbers", "FACTOR = 2.0", "FACTOR = 2.5", id="a constant that is reached indirectly"),
        pytest.param("house.numbers", "start=0", "start=7", id="a default in a helper"),
        pytest.param("house.scoring", "rounds: int = 3", "rounds: int = 4", id="a default of an option"),
        pytest.param("house.scoring", "return SCALE *", "return 2 * SCALE *", id="a factor"),
        pytest.param("house.scoring", "max(number", "min(number", id="a nested function"),
        pytest.param("house.numbers", "np.mean", "np.median", id="another library function"),
        pytest.param("house.scoring", "if not values:", "if values is None:", id="a condition"),
    ],
)
def test_what_can_change_a_number_changes_the_hash(house: House, module: str, old: str, new: str) -> None:
    before = house.hash()
    house.change(module, old, new)
    assert house.hash() != before


def test_a_moved_module_and_renamed_definitions_keep_the_hash(house: House, tmp_path: Path) -> None:
    moved = dict(SOURCE)
    moved["house.moved.arithmetic"] = moved.pop("house.numbers").replace("def mean", "def average")
    moved["house.scoring"] = (
        SOURCE["house.scoring"]
        .replace(
            "from house import errors, numbers\n", "from house import errors\nfrom house.moved import arithmetic\n"
        )
        .replace("from house.numbers import FACTOR as SCALE", "from house.moved.arithmetic import FACTOR")
        .replace("SCALE", "FACTOR")
        .replace("numbers.mean", "arithmetic.average")
    )
    assert House(tmp_path / "moved", moved).hash() == house.hash()


def test_a_local_name_is_not_taken_for_a_global_one(house: House) -> None:
    house.change("house.scoring", "    if not values:", "    UNUSED = len(values)\n    if not UNUSED:")
    before = house.hash()
    house.change("house.numbers", "UNUSED = 5", "UNUSED = 6")
    assert house.hash() == before


def test_functions_that_call_each_other_are_hashed(house: House) -> None:
    house.write(
        "house.numbers", "def even(n):\n    return n == 0 or odd(n - 1)\n\n\ndef odd(n):\n    return even(n - 1)\n"
    )
    before = house.hash("house.numbers:even")
    house.change("house.numbers", "return even(n - 1)", "return not even(n)")
    assert house.hash("house.numbers:even") != before


def test_names_that_are_handed_on_are_followed(house: House) -> None:
    house.write("house.moved.front", "from house.scoring import leak\n")
    assert house.hash("house.moved.front:leak") == house.hash("house.scoring:leak")


def test_imports_inside_functions_are_followed(house: House) -> None:
    house.write("house.moved.late", "def run(x):\n    from house.numbers import mean\n\n    return mean(x)\n")
    before = house.hash("house.moved.late:run")
    house.change("house.numbers", "start=0", "start=1")
    assert house.hash("house.moved.late:run") != before


def test_reachable_definitions_are_named(house: House) -> None:
    found = [str(definition) for definition in house.reader().reachable(["house.scoring:leak"])]
    assert found == ["house.scoring:leak", "house.numbers:FACTOR", "house.numbers:mean"]


def test_a_missing_entry_point_is_an_error(house: House) -> None:
    with pytest.raises(LookupError, match=r"house\.scoring:gone"):
        house.hash("house.scoring:gone")
