"""Text out of vectors, with an encoder of a few lines and a decoder of a few thousand parameters."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import Corpus, Floats, Guess, Release, UsageError, Written
from bench.attacks.invert import Invert, InvertFew, XieHongInvert, few, training, unseen
from bench.attacks.invert.bag import Bag
from bench.attacks.invert.decoder import beams, likelihoods
from bench.attacks.invert.edits import Edit, Proposals, _joined, _top, edited, polish
from bench.attacks.invert.judge import MET, Judge, Target
from bench.attacks.invert.ngrams import Neighbours
from bench.attacks.invert.words import END, PAD, SPECIAL, UNKNOWN, Vocabulary, folds_case, spelled, words_of
from bench.attacks.xie_hong import XieHongBlind
from bench.isolation import view as views
from bench.surfaces.pairs import Pairs
from tests.helpers.scenarios import surfaces_of

DIM = 48
SMALL = training.Recipe(passes=2, length=8, width=32, layers=1)


class Encoder:
    """Words at places, in random directions: order counts, case does not."""

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        return np.stack([self._vector(text) for text in texts]).astype(np.float32)

    def _vector(self, text: str) -> Any:
        found = np.ones(DIM)
        for at, word in enumerate(re.findall(r"\w+|[^\w\s]", text.lower())):
            rng = np.random.default_rng(zlib.crc32(word.encode()))
            found += rng.standard_normal(DIM) + 0.4 * np.sin(at) * rng.standard_normal(DIM)
        return found


class Broken:
    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        raise OSError("no weights")


class Narrow:
    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        return np.zeros((len(texts), 3), np.float32)


def sentences() -> list[str]:
    nouns, verbs = ("cat", "dog", "man", "girl", "bird"), ("sees", "likes", "eats")
    return [f"The {one} {verb} a {two}." for one in nouns for verb in verbs for two in nouns]


EVERY = sentences()
PRIVATE, PUBLIC = EVERY[::9], [text for at, text in enumerate(EVERY) if at % 9]


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path / "cache"))


def seen(folder: Path, encodings: Floats, public: list[str], encoder: Any) -> views.View:
    vectors = Encoder().encode(public) if public else np.zeros((0, DIM), np.float32)
    folder.mkdir(exist_ok=True, parents=True)
    views.write(
        folder,
        ("encoder", "encodings", "public"),
        surfaces_of(Release(encodings, np.zeros((len(encodings), 1)))),
        public=Corpus(public, vectors),
        encoder={"name": "tiny"},
    )
    return views.View(folder, make=lambda kind, reference: encoder)


def run(folder: Path, attack: Invert, encodings: Floats, public: list[str] = PUBLIC, encoder: Any = None) -> Written:
    view = seen(folder / "view", encodings, public, encoder or Encoder())
    guess = attack.run(view, np.random.default_rng(0))
    assert view.used == {"encodings", "encoder", "public"}
    assert isinstance(guess, Written)
    return guess


def test_edits_find_sentences_that_no_corpus_holds(tmp_path: Path) -> None:
    vectors = Encoder().encode(PRIVATE)
    guess = run(tmp_path, Invert(method="search"), vectors)
    right = [one == two.lower() for one, two in zip(guess.written, PRIVATE, strict=True)]
    assert np.mean(right) > 0.8
    assert guess.details["met"] == pytest.approx(np.mean(right), abs=1e-3)
    nearest = run(tmp_path, Invert(method="nearest"), vectors)
    assert not {*nearest.written} & {text.lower() for text in PRIVATE}
    assert {*nearest.written} <= {text.lower() for text in PUBLIC}


def test_an_attack_writes_as_much_as_was_released(tmp_path: Path) -> None:
    guess = run(tmp_path, Invert(method="both", passes=1, rounds=1, length=8, starts=2), Encoder().encode(PRIVATE[:3]))
    assert len(guess.written) == 3
    assert guess.ordered
    assert all(guess.written)


def test_the_decoder_learns_is_stored_and_is_the_same_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = Encoder().encode(PUBLIC)
    told: list[str] = []
    whole = training.obtain(Encoder(), PUBLIC, vectors, SMALL, told.append)
    assert any("training" in text or "pieces" in text for text in told)
    again = training.obtain(Encoder(), PUBLIC, vectors, SMALL, lambda text: pytest.fail(f"trained again: {text}"))
    weights = whole.decoder.state_dict()
    assert all((again.decoder.state_dict()[name] == value).all() for name, value in weights.items())
    # Stopped after its first step, with the state saved at every step, in another store.
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path / "other"))
    monkeypatch.setattr(training, "SAVED_S", -1.0)
    step, steps = training._step, 0  # noqa: SLF001

    def interrupted(*given: Any) -> float:
        nonlocal steps
        steps += 1
        if steps == 2:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(training, "_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        training.obtain(Encoder(), PUBLIC, vectors, SMALL, lambda text: None)
    resumed = training.obtain(Encoder(), PUBLIC, vectors, SMALL, lambda text: None)
    assert all((resumed.decoder.state_dict()[name] == value).all() for name, value in weights.items())


@pytest.mark.slow
def test_a_decoder_writes_what_it_was_trained_on(tmp_path: Path) -> None:
    vectors = Encoder().encode(PUBLIC)
    trained = training.obtain(Encoder(), PUBLIC, vectors, training.Recipe(250, length=8, width=32, layers=1), print)
    rows, likely = beams(trained.decoder, vectors[:20], 3)
    assert rows.shape[:2] == (20, 3)
    assert (np.diff(likely[:, :1]) >= 0).all()
    found = [trained.vocabulary.text(row[0]) for row in rows]
    words = [set(words_of(one, True)) & set(words_of(two, True)) for one, two in zip(found, PUBLIC, strict=False)]
    assert np.mean([len(some) for some in words]) > 3.5  # of five different words and a full stop
    table = likelihoods(trained.decoder, vectors[:2], [(4, 5), (6,)])
    assert table.shape == (2, 3, len(trained.vocabulary))
    assert np.isneginf(table[..., :SPECIAL]).all()


def test_words_and_their_spelling() -> None:
    assert words_of("Don't go, John.", True) == ["don", "'", "t", "go", ",", "john", "."]
    assert spelled(words_of("I don't (really) know, John.", False)) == "I don't (really) know, John."
    vocabulary = Vocabulary.of(["a b b", "b c"], True, most=2)
    assert vocabulary.words == ("b", "a")
    rows = vocabulary.rows(["b x", "a a a a"], 3)
    assert rows.tolist() == [[4, UNKNOWN, END, PAD], [5, 5, 5, 5]]
    assert folds_case(Encoder())
    assert training._apart(["i", "don", "'", "t"]) == ["i", "do", "n", "'", "t"]  # noqa: SLF001


def test_the_bag_knows_the_words_and_what_is_lacking() -> None:
    vocabulary = Vocabulary.of(PUBLIC, True, 100)
    vectors = Encoder().encode(PUBLIC)
    bag = Bag(vocabulary, PUBLIC, vectors)
    likely = np.argsort(-bag.presence(bag.standard(Encoder().encode(PRIVATE))), axis=1)[:, :6]
    recall = [np.isin(vocabulary.numbers(text), row).mean() for text, row in zip(PRIVATE, likely, strict=True)]
    assert np.mean(recall) > 0.9
    one, two = bag.standard(Encoder().encode(["The cat sees a dog.", "The cat sees a bird."]))
    lacking = bag.lacking((two - one)[None])[0]
    words = [vocabulary.words[i - SPECIAL] for i in np.argsort(-lacking) if i >= SPECIAL]
    assert (words[0], words[-1]) == ("bird", "dog")


def test_a_met_vector_costs_no_more_calls() -> None:
    vocabulary = Vocabulary.of(PUBLIC, True, 100)
    bag = Bag(vocabulary, PUBLIC, Encoder().encode(PUBLIC))
    neighbours = Neighbours(vocabulary, PUBLIC)
    judge = Judge(Encoder(), vocabulary, bag, neighbours, keep=2)
    target = Target(bag.standard(Encoder().encode(PUBLIC[:1]))[0])
    judge.look([target], [[tuple(vocabulary.numbers(PUBLIC[0]))]])
    assert target.met
    polish([target], judge, Proposals(bag, neighbours, None), rounds=5, moves=5, length=8)
    assert judge.asked == 1


def test_edits_of_a_sentence() -> None:
    state = (10, 11, 12, 13)
    assert edited(state, [Edit(1, 2, ()), Edit(4, 4, (20,)), Edit(2, 4, (13, 12))]) == (10, 13, 12, 20)
    assert edited(state, []) == state


def test_words_that_stand_together_are_moved_together() -> None:
    vocabulary = Vocabulary.of(["a b c d e"], True, 100)
    neighbours = Neighbours(vocabulary, ["a b c d e"] * 9)
    bag = Bag(vocabulary, ["a b c d e"] * 9, np.random.default_rng(0).standard_normal((9, 6)).astype(np.float32))
    state = tuple(vocabulary.numbers("d e a b c"))
    found = [edited(state, [edit]) for edit in Proposals(bag, neighbours, None)._shifted(state, 400)]  # noqa: SLF001
    assert vocabulary.text(found and max(found, key=lambda one: neighbours.sentences([one])[0])) == "a b c d e"
    assert state not in found
    assert all(sorted(one) == sorted(state) for one in found)


def test_edits_whose_effects_add_up_are_made_at_once() -> None:
    """Three words are wrong, each alone is a small gain; what came of single edits says which to join."""
    rng = np.random.default_rng(0)
    effects = {word: rng.standard_normal(20).astype(np.float32) for word in range(10, 40)}
    now = np.zeros(20, np.float32) + 0.01
    right = (10, 11, 12)
    target = Target(now + sum((effects[word] for word in right), np.zeros(20, np.float32)))
    state = (1, 2, 3, 4)
    made = {edited(state, [edit]): edit for edit in (Edit(w % 3, w % 3 + 1, (w,)) for w in effects)}
    seen = {words: now + effects[edit.words[0]] for words, edit in made.items()}
    joined = _joined(target, state, now, made, seen, count=8, length=6)
    assert edited(state, [Edit(w % 3, w % 3 + 1, (w,)) for w in right]) in joined
    assert all(len(one) == 4 and one[3] == 4 for one in joined)
    assert not _joined(target, state, now, made, seen, count=8, length=3)
    assert not _joined(target, state, now, {}, {}, count=8, length=6)


def test_a_draft_sorts_and_the_encoder_decides() -> None:
    """A draft that is a little off never says by itself that a vector is met."""
    vocabulary = Vocabulary.of(PUBLIC, True, 100)
    encoder = Encoder()
    bag = Bag(vocabulary, PUBLIC, encoder.encode(PUBLIC))
    neighbours = Neighbours(vocabulary, PUBLIC)
    judge = Judge(encoder, vocabulary, bag, neighbours, 2, lambda texts: encoder.encode(texts) + 0.01)
    right, wrong = (tuple(vocabulary.numbers(text)) for text in PUBLIC[:2])
    target = Target(bag.standard(encoder.encode(PUBLIC[:1]))[0])
    judge.look([target], [[right, wrong]])
    assert (judge.drafted, judge.asked) == (2, 1)
    assert target.met
    assert target.known[right] >= MET
    other = Target(bag.standard(encoder.encode(PUBLIC[:1]))[0])
    judge.draft = lambda texts: np.repeat(encoder.encode(PUBLIC[:1]), len(texts), axis=0)  # says that all are right
    judge.look([other], [[wrong]])
    assert not other.met
    assert other.known[wrong] < 0.99


@pytest.mark.parametrize(
    ("encoder", "public", "width", "line"),
    [
        (Broken(), PUBLIC, DIM, "the encoder cannot be called .OSError: no weights."),
        (Narrow(), PUBLIC, DIM, "the encoder's vectors have 3 dimensions, those of the public corpus 48"),
        (Encoder(), PUBLIC, 7, "vectors of 7 dimensions cannot be read: the decoder's have 48"),
        (Encoder(), [], DIM, "the public corpus is empty"),
    ],
)
def test_what_cannot_be_attacked_is_told_in_one_line(
    tmp_path: Path, encoder: Any, public: list[str], width: int, line: str
) -> None:
    with pytest.raises(UsageError, match=line):
        run(tmp_path, Invert(method="search"), np.zeros((2, width), np.float32), public, encoder)


def test_long_sentences_are_cut_and_counted(tmp_path: Path) -> None:
    long = " ".join(["the cat sees a dog"] * 6)
    guess = run(tmp_path, Invert(method="search", length=4, rounds=2), Encoder().encode([long, "the cat"]))
    assert max(len(words_of(text, True)) for text in guess.written) <= 4
    assert guess.details["as long as allowed"] >= 1


def test_vectors_out_of_many_encodings_become_texts_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first half of the chain has tests of its own (tests/attacks/xie_hong)."""
    vectors = Encoder().encode(PRIVATE[:4]) + 1e-4
    monkeypatch.setattr(XieHongBlind, "run", lambda self, view, rng: Guess(vectors=vectors, details={"examples": 4}))
    view = seen(tmp_path / "view", np.zeros((200, DIM), np.float32), PUBLIC, Encoder())
    guess = XieHongInvert(method="search").run(view, np.random.default_rng(0))
    assert isinstance(guess, Written)
    assert not guess.ordered
    assert len(guess.written) == guess.details["examples"] == 4
    assert len({*guess.written} & {text.lower() for text in PRIVATE}) >= 3


def test_options() -> None:
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        Invert(rounds=0)
    with pytest.raises(ValueError, match="joint must be at least 0"):
        Invert(joint=-1)
    assert XieHongInvert().method == "search"


def test_every_place_gets_its_share_of_proposals() -> None:
    scores = np.array([[0, 0, 0, 0, 9.0, 8, 7], [9, 9, 9, 9, 1, 3, 2], [0, 0, 0, 0, -np.inf, -np.inf, 1]])
    assert sorted(_top(scores, 4, each=True)) == [(0, 4), (0, 5), (1, 5), (1, 6), (2, 6)]
    assert sorted(_top(scores, 3)) == [(0, 4), (0, 5), (0, 6)] or len(_top(scores, 3)) < 3


def test_a_word_that_public_text_lacks_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of the tokenizer's vocabulary: what it does to a vector is learnt by writing it into public sentences."""
    private = ["The zebra sees a cat.", "The man eats a quince."]
    vectors = Encoder().encode(private)
    words = ["zebra", "quince", "cat", "spare"]
    monkeypatch.setattr("bench.attacks.invert.inverter.own_words", lambda encoder, fold: words)
    guess = run(tmp_path, Invert(), vectors)
    assert guess.written == [text.lower() for text in private]
    (stored,) = (tmp_path / "cache" / "decoders").glob("*/effects.npy")
    assert len(np.load(stored)) >= 3
    without = run(tmp_path / "without", Invert(unseen=False), vectors)
    assert not {"zebra", "quince"} & {word for text in without.written for word in words_of(text, True)}


def test_effects_are_learnt_once(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of(PUBLIC, True, 100).widened(["zebra", "cat"])
    assert len(vocabulary) == len(Vocabulary.of(PUBLIC, True, 100)) + 1
    rare = np.array(vocabulary.numbers("zebra"))
    vectors = Encoder().encode(PUBLIC)
    once = unseen.effects(Encoder().encode, "whole", vocabulary, rare, PUBLIC, vectors, print)
    again = unseen.effects(Broken().encode, "whole", vocabulary, rare, PUBLIC, vectors, print)
    assert np.array_equal(once, again)
    with pytest.raises(OSError, match="no weights"):
        unseen.effects(Broken().encode, "half", vocabulary, rare, PUBLIC, vectors, print)


def test_words_of_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tokenizer:
        def __init__(self, words: list[str]):
            self.words = words

        def get_vocab(self) -> dict[str, int]:
            return {word: at for at, word in enumerate(self.words)}

    class Packed:
        folder = Path("somewhere")

    def told(*words: str) -> list[str]:
        monkeypatch.setattr(unseen.packed, "tokenizer_of", lambda folder: Tokenizer([*words]))
        return unseen.own_words(Packed(), True)

    assert told("[PAD]", "zebra", "##ing", "a", "1945", "don't", "né") == ["zebra", "1945"]
    assert told("<s>", "\u0120Zebra", "ing", "\u0120cat", "\u0120zebra") == ["zebra", "cat"]
    assert unseen.own_words(Encoder(), True) == []


def test_a_map_between_encoders_says_how_right_it_is() -> None:
    rng = np.random.default_rng(0)
    table, given = rng.standard_normal((30, 12)), rng.standard_normal((200, 30))
    noise = np.where(np.arange(12) < 6, 0.1, 20.0)
    found = few.align(given, given @ table + 3 + noise * rng.standard_normal((200, 12)))
    fresh = rng.standard_normal((50, 30))
    assert found.right[:6].min() > 0.9
    assert found.right[6:].max() < 0.3
    assert np.corrcoef(found(fresh)[:, 0], (fresh @ table)[:, 0])[0, 1] > 0.99
    assert found.trust[:6].min() > 3 * found.trust[6:].max()
    # With fewer pairs than dimensions it is still a map, and a worse one.
    less = few.align(given[:15], (given @ table)[:15])
    assert less.right.mean() < found.right[:6].mean()


def test_a_few_known_pairs_stand_in_for_the_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The victim's encoder is the attacker's own, turned: pairs tell how."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((DIM, DIM)))[0].astype(np.float32)
    vectors = Encoder().encode(PUBLIC) @ turn
    monkeypatch.setattr(few, "own_encoder", lambda name, progress: (Encoder(), Encoder().encode))
    folder = tmp_path / "view"
    folder.mkdir()
    released = surfaces_of(Release(Encoder().encode(PRIVATE) @ turn, np.zeros((len(PRIVATE), 1))))
    released["pairs"] = Pairs(PUBLIC[:60], vectors[:60], PUBLIC)
    views.write(folder, ("encodings", "pairs"), released)
    view = views.View(folder)
    guess = InvertFew(known=60).run(view, np.random.default_rng(0))
    assert view.used == {"encodings", "pairs"}
    assert isinstance(guess, Written)
    common = [
        len({*words_of(one, True)} & {*words_of(two, True)}) for one, two in zip(guess.written, PRIVATE, strict=True)
    ]
    assert np.mean(common) > 4  # of five words and a full stop
    with pytest.raises(views.NotGranted):
        _ = view.public


def test_few_pairs_that_do_not_fit_are_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "view"
    folder.mkdir()
    released = surfaces_of(Release(np.zeros((2, 7), np.float32), np.zeros((2, 1))))
    released["pairs"] = Pairs(PUBLIC[:9], Encoder().encode(PUBLIC[:9]), PUBLIC)
    views.write(folder, ("encodings", "pairs"), released)
    monkeypatch.setenv("BENCH_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UsageError, match="the attacker's own encoder bert cannot be called"):
        InvertFew(own="bert").run(views.View(folder), np.random.default_rng(0))
    monkeypatch.setattr(few, "own_encoder", lambda name, progress: (Encoder(), Encoder().encode))
    with pytest.raises(UsageError, match="the pairs' vectors have 48 dimensions and the encodings 7"):
        InvertFew().run(views.View(folder), np.random.default_rng(0))
    with pytest.raises(ValueError, match="known must be at least 2"):
        InvertFew(known=1)
    with pytest.raises(ValueError, match="trains no decoder"):
        InvertFew(method="both")
