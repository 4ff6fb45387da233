"""The page of each board: what stands in the table of a suite, and below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench.board.build import Board
from bench.board.render.front import epsilon, interval, worst
from bench.board.render.markup import Aside, Block, Heading, Items, Table, Text
from bench.board.select import ADHOC
from bench.scoring.metrics import METRICS

MADE = "Made by `bench leaderboard` from records; do not edit. "
ATTACKED = """A defense is as good as the best attack on it: defenses stand by their worst case, the best hidden first,
in tiers. Two are in different tiers only if a bootstrap over the private examples, on the same examples unless noted,
tells them apart at 95 %. A value is a mean over seeds with its 95 % interval; the interval takes seeds as independent,
although they draw from the same data. Protocols (private examples × encodings of each) are never averaged over.
≈: no better than random guessing; ↑: another attack finds significantly more; ✗: runs that failed, listed below."""
PRICED = """A value is a mean over seeds, with their standard deviation where there are several; majority is what a
constant answer reaches, and undefended what the same training reaches without a defense."""
SHOW = "`bench show ID` prints how a number was made and the command that repeats it."

Cell = dict[str, Any]


def page(board: Board, name: str) -> list[Block]:
    """The board of one suite."""
    suite = board["suites"][name]
    title = f"{name}, version {suite['version']}" if suite["version"] else name
    cells = [c for c in board["cells"] if name in c["suites"]]
    rows = [row for row in board["defenses"] if row["suite"] == name]
    prices = [p for p in board["utility"] if name in p["suites"]]
    blocks: list[Block] = [Heading(title, 1), *([Text(suite["title"])] if suite["title"] else [])]
    blocks.append(Text(f"{MADE}{ATTACKED if cells else PRICED}\n{SHOW}"))
    blocks.append(Items(list(_state(name, suite))))
    for place in sorted({(c["dataset"], c["encoder"]) for c in [*cells, *prices]}):
        blocks.append(Heading(", ".join(place)))
        blocks += _holes(suite, place)
        here = [c for c in cells if (c["dataset"], c["encoder"]) == place]
        if here:
            ranks = [row for row in rows if (row["dataset"], row["encoder"]) == place]
            blocks += [matrix(ranks, here), *_footnotes(ranks), *_failures(here), *_samples(here)]
            blocks.append(Aside([Heading("All metrics", 3), _metrics(here)]))
        priced = [p for p in prices if (p["dataset"], p["encoder"]) == place]
        blocks += [Heading("What it costs in accuracy", 3), _prices(priced)] if priced else []
    blocks += _theirs(board, name)
    return blocks


def matrix(ranks: Sequence[Cell], cells: Sequence[Cell]) -> Table:
    """Defenses down, attacks across, the worst case first."""
    columns = sorted({(c["attack"], c["protocol"]) for c in cells})
    by_column = {column: [c for c in cells if (c["attack"], c["protocol"]) == column] for column in columns}
    budgets, priced = any(row["epsilon"] for row in ranks), any(row["utility"] for row in ranks)
    extra = [
        *(["ε claimed → held in the worst case"] if budgets else []),
        *(["utility (undefended)"] if priced else []),
    ]
    heads = ["\n".join([a, p, "/".join(sorted({c["metric"] or "" for c in by_column[a, p]}))]) for a, p in columns]
    sees = [", ".join(by_column[column][0]["sees"]) for column in columns]
    rows = [["", "sees", *[""] * len(extra), "", *sees]]
    for row in ranks:
        about = [*([epsilon(row)] if budgets else []), *([_utility(row)] if priced else [])]
        here = [[c for c in by_column[column] if c["defense"] == row["defense"]] for column in columns]
        values = ["\n".join(map(_value, some)) or "–" for some in here]
        rows.append([str(row["tier"] or "–"), row["defense"], *about, worst(row), *values])
    return Table(["tier", "defense", *extra, "worst case", *heads], rows)


def _state(name: str, suite: dict[str, Any]) -> Iterable[str]:
    yield f"{suite['records']} records, {suite['failed']} failed; {suite['superseded']} superseded by newer ones"
    if name == ADHOC:
        return
    named = sum(place[3] for place in suite["places"])
    if suite["problem"]:
        yield f"what is missing is not known: {suite['problem']}"
    else:
        yield f"{suite['holes']} of the {named} cells that the suite names are missing"
        untouched = [f"{dataset}, {encoder}" for dataset, encoder, missing, some in suite["places"] if missing == some]
        if untouched:
            yield f"not run at all: {'; '.join(untouched)}"
        if suite["file_version"] != suite["version"]:
            yield f"the suite is at version {suite['file_version']}; these records are of version {suite['version']}"


def _holes(suite: dict[str, Any], place: tuple[str, str]) -> list[Block]:
    for dataset, encoder, missing, named in suite["places"]:
        if (dataset, encoder) == place and missing:
            return [Text(f"{missing} of {named} cells are missing here.")]
    return []


def _value(cell: Cell) -> str:
    failed, runs = len(cell["failed"]), len(cell["seeds"])
    if cell["value"] is None:
        said = "/".join(sorted({f["status"] for f in cell["failed"]}))
        return f"✗ {said} {failed}/{runs}" if failed else "–"
    beside = [] if cell["random"] is None else [f"random {cell['random']:.3f}"]
    beside += [] if cell["cost"]["attack_s"] is None else [_seconds(cell["cost"]["attack_s"])]
    signs = {"random": "≈", "stronger": "↑", "failed": f"✗ {failed}/{runs}"}
    marks = " ".join(sign for mark, sign in signs.items() if mark in cell["marks"])
    lines = [f"{interval(cell)} {marks}".rstrip(), ", ".join(beside)]
    lines += [
        f"{p['metric']} {cell['metrics'][p['metric']][0]:.3f}, theirs {p['value']:.3f} ({p['table']})"
        for p in cell["published"]
        if p["metric"] in (cell["metric"], "identity") and p["metric"] in cell["metrics"]
    ]
    return "\n".join(line for line in lines if line)


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2g} s"


def _utility(row: Cell) -> str:
    prices = row["utility"] or {}
    lines = (f"{name} {_spread(mean, off)} ({_digits(bare)})" for name, (mean, off, bare, _) in prices.items())
    return "\n".join(lines) or "–"


def _spread(mean: float, deviation: float | None) -> str:
    """Without a deviation it is of one seed."""
    return f"{mean:.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")


def _footnotes(ranks: Sequence[Cell]) -> list[Block]:
    """Where tiers were not told apart by the strongest attacks on the same examples."""
    how = {"unpaired": "compared on examples drawn apart"}
    lines = [
        f"{row['defense']}: {how.get(row['basis'], 'compared on the same examples, ' + row['basis'])}"
        for row in ranks
        if row["basis"] not in (None, "paired")
    ]
    return [Items(lines)] if lines else []


def _failures(cells: Sequence[Cell]) -> list[Block]:
    lines = [
        f"✗ {f['status']}, {c['defense']} × {c['attack']}, seed {f['seed']} (`{_id(f['id'])}`): {f['error']}"
        for c in cells
        for f in c["failed"]
    ]
    return [Items(lines)] if lines else []


def _samples(cells: Sequence[Cell]) -> list[Block]:
    """Where the suite kept wrong answers too; without them there is little to read."""
    some = [(c, s) for c in cells for s in c["samples"]]
    if any(s["answer"] is None for _, s in some):
        return []
    rows = [[c["defense"], c["attack"], s["example"], s["answer"], "yes" if s["right"] else "no"] for c, s in some]
    head = ["defense", "attack", "query", "answer", "right?"]
    said = Text("Right: the answer is one of the sentences that are mixed into the encoding.")
    return [Heading("Queries and answers", 3), said, Table(head, rows)] if rows else []


def _metrics(cells: Sequence[Cell]) -> Table:
    names = [m for m in METRICS if any(m in c["metrics"] for c in cells)]
    rows = [
        [
            *(c["defense"], c["attack"], c["protocol"]),
            *(_metric(c["metrics"].get(m)) for m in names),
            " ".join([*(f"`{_id(i)}`" for i in c["ids"]), *_lost(c)]),
        ]
        for c in cells
    ]
    return Table(["defense", "attack", "protocol", *names, "records"], rows)


def _lost(cell: Cell) -> list[str]:
    """How many of the runs behind a value did not come to an end."""
    return [f"✗ {len(cell['failed'])}/{len(cell['seeds'])}"] if cell.get("failed") else []


def _metric(parts: Sequence[float | None] | None) -> str:
    if parts is None:
        return "–"
    value, low, high, random = parts
    return f"{_digits(value)} [{_digits(low)}, {_digits(high)}]" + ("" if random is None else f" ({_digits(random)})")


def _digits(value: float | None) -> str:
    """A picture that went astray has an error of any size."""
    return "–" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"


def _prices(prices: Sequence[dict[str, Any]]) -> Table:
    rows = [
        [
            *(p["defense"], epsilon(p), metric, str(p["epochs"])),
            _spread(mean, deviation),
            *map(_digits, (bare, majority)),
            "\n".join(f"{_printed(q)} ({q['table']})" for q in p["published"] if q["metric"] == metric) or "–",
            " ".join(f"`{_id(i)}`" for i in p["ids"]),
        ]
        for p in prices
        for metric, (mean, deviation, bare, majority) in p["metrics"].items()
    ]
    words = ["defense", "ε claimed → held", "metric", "epochs", "mean ± deviation", "undefended", "majority", "theirs"]
    return Table([*words, "records"], rows)


def _printed(number: dict[str, Any]) -> str:
    random = number.get("random")
    return _spread(number["value"], number["deviation"]) + ("" if random is None else f" ({random:.3f})")


def _theirs(board: Board, name: str) -> list[Block]:
    """What the papers print beside what came out here, whether or not it was run."""
    rows = []
    for number in board["published"]:
        if number["suite"] != name:
            continue
        for encoder, ours in _ours(board, number) or [(number["encoder"], "not run")]:
            about = [number["dataset"], encoder, number["defense"], number["attack"] or "–", number["metric"]]
            rows.append([*about, _printed(number), ours, number["source"]])
    differs = board["suites"][name]["differs"]
    blocks: list[Block] = [Heading("Theirs and ours")] if rows or differs else []
    blocks += [Text(differs)] if differs else []
    beside = " (random)" if any(n["suite"] == name and n["attack"] for n in board["published"]) else ""
    head = ["dataset", "encoder", "defense", "attack", "metric", f"theirs{beside}", f"ours{beside}", "source"]
    return [*blocks, *([Table(head, rows)] if rows else [])]


def _ours(board: Board, number: dict[str, Any]) -> list[tuple[str, str]]:
    """Of the suite itself if it names such a cell, else of any other."""
    metric = number["metric"]
    pool = board["cells"] if number["attack"] else board["utility"]
    same = [
        row
        for row in pool
        if all(row.get(kind, "") == number[kind] for kind in ("dataset", "defense", "attack"))
        and number["encoder"] in ("", row["encoder"])
        # A run that failed is one: without a value, but not one that was never made.
        and (metric in row["metrics"] or row.get("failed"))
    ]
    mine = [row for row in same if number["suite"] in row["suites"]] or same
    found = []
    for row in mine:
        parts = row["metrics"].get(metric)
        if number["attack"]:
            found.append((row["encoder"], ", ".join([_metric(parts), row["protocol"], *_lost(row)])))
        else:
            found.append((row["encoder"], f"{_spread(*parts[:2])}, {row['epochs']} epochs"))
    return found


def _id(identity: str) -> str:
    """Long enough to be the only one."""
    return identity[:10]
