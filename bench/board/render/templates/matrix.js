// The board: for every data set and encoder, defenses down and attacks across, each defense's worst case first.

const grouped = (items, key) => {
  const groups = new Map();
  for (const item of items) {
    const k = key(item);
    if (groups.has(k)) groups.get(k).push(item);
    else groups.set(k, [item]);
  }
  return groups;
};

const reached = (cell) => (cell && ranks(cell) ? cell.value : -1);

const guessed = (cell) => cell.marks.includes("random");

// What is no better than guessing is no leak, be it larger: guesses are compared by what they are above their level.
const above = (cell) => reached(cell) - (guessed(cell) ? (cell.random ?? 0) : 0);

// Of equals the one that is surest.
const strength = (cell) => [ranks(cell) && !guessed(cell) ? 1 : 0, above(cell), cell.low ?? -1];
const stronger = (a, b) => {
  const [mine, theirs] = [strength(a), strength(b)];
  const i = mine.findIndex((value, j) => value !== theirs[j]);
  return i >= 0 && theirs[i] > mine[i];
};

const strongest = (list) => list.reduce((a, b) => (stronger(a, b) ? b : a));

// What holds after as many encodings as the strongest attack saw; where all guess, as the one that saw most.
const budget = (worst, list) =>
  (ranks(worst) && !guessed(worst) ? [worst] : list)
    .map((c) => c.epsilon)
    .filter(Boolean)
    .reduce((a, b) => (a && a.accounted >= b.accounted ? a : b), null);

// What a defense's line shows: its cells by attack (of several protocols the strongest result), its worst case, its tier.
const lineOf = (defense, list) => {
  const attacks = new Map([...grouped(list, (c) => c.attack)].map(([name, same]) => [name, [strongest(same), same.length - 1]]));
  const rank = ranked.get(`${state.suite}\n${placeOf(list[0])}\n${defense}`);
  // As the tables have it, which know more digits; with attacks left out, as the rest has it.
  const stated = wholeThreat() && rank?.worst;
  const worst = (stated && list.find((c) => c.attack === stated.attack && c.protocol === stated.protocol)) || strongest(list);
  return {
    defense,
    attacks,
    worst,
    // Attacks of which no run came to an end: they say nothing on the defense, and are counted beside its worst case.
    lost: [...grouped(list, (c) => c.attack).values()].filter((same) => same.every((c) => c.value === null && c.failed.length)).length,
    epsilon: budget(worst, list),
    rank,
  };
};

const useful = (line) => Object.entries(line.rank?.utility ?? {})[0];

// The worst case is that of the attacks that came to an end; how many did not stands beside it.
const worstOf = (line) => {
  const lost = line.lost ? `; ${line.lost} of ${line.attacks.size} attacks failed` : "";
  const said = line.lost === line.attacks.size ? "every attack" : `${line.worst.attack}${lost}`;
  return el("td", { class: "right worst" }, leak(line.worst, el("small", {}, said)));
};

// A first tier that is shared with no defense at all is no praise.
const tierOf = (line, undefended) => {
  const as = line.defense !== "none" && known(undefended) && line.rank?.tier === undefended;
  return el("td", { class: "right tier" }, String(line.rank?.tier ?? "–"), as ? el("small", {}, "as none") : null);
};

const utility = (line) => {
  const [metric, [mean, deviation, undefended, constant]] = useful(line) ?? [null, []];
  if (!metric) return el("td", { class: "right quiet" }, "–");
  const spread = known(deviation) ? ` ± ${number(deviation)}` : "";
  const beside = known(undefended) ? `${metric}; undefended ${number(undefended)}` : metric;
  const idle = known(constant) && mean < constant + packed.learnt;
  return el("td", { class: "right" }, `${number(mean)}${spread}`, el("small", {}, beside), idle ? el("small", {}, "nothing learnt") : null);
};

const KEYS = {
  defense: (l) => l.defense,
  tier: (l) => l.rank?.tier,
  // As the tables have it: what is only guessed at stands before whatever is found.
  worst: (l) => (ranks(l.worst) ? above(l.worst) - (guessed(l.worst) ? 1 : 0) : null),
  epsilon: (l) => l.epsilon?.nominal,
  utility: (l) => useful(l)?.[1][0],
};

const order = (lines) => {
  const key = state.order.replace(/^-/, "");
  const value = key.startsWith("attack:") ? (l) => l.attacks.get(key.slice(7))?.[0].value : (KEYS[key] ?? (FURTHER.some((c) => c.key === key) ? (l) => l.rank?.[key] : KEYS.worst));
  return [...lines].sort(by(KEYS.defense, false)).sort(by(value, state.order.startsWith("-")));
};

// `edge`: where the single attacks begin, behind what a defense is, costs and promises.
const cellOf = (line, attack, edge) => {
  const [cell, more] = line.attacks.get(attack) ?? [];
  const kind = edge ? "right edge" : "right";
  if (!cell) return el("td", { class: `${kind} quiet` }, el("span", { title: "not run", role: "img", "aria-label": "not run" }, "·"));
  const also = more ? el("small", {}, `+${more}`) : null;
  return el("td", { class: cell.marks.includes("random") ? `${kind} chance` : kind }, leak(cell, also));
};

// A column that bench/board/columns.py has and this file does not know is shown as its format says.
const DRAWN_COLUMNS = new Set(["defense", "tier", "worst", "epsilon", "utility"]);
const FURTHER = packed.titles.defenses.filter((c) => !DRAWN_COLUMNS.has(c.key));
const header = (key, kind = "") => {
  const { title, explanation } = packed.titles.defenses.find((c) => c.key === key);
  return sortable(key, title, state.order, { class: kind }, explanation);
};

const section = (list) => {
  const lines = [...grouped(list, (c) => c.defense)].map(([defense, same]) => lineOf(defense, same));
  const reach = (name) => Math.max(...lines.map((l) => reached(l.attacks.get(name)?.[0])));
  const sum = (name) => lines.reduce((total, l) => total + Math.max(reached(l.attacks.get(name)?.[0]), 0), 0);
  // The strongest attack stands next to the worst case.
  const attacks = [...new Set(list.map((c) => c.attack))].sort((a, b) => sum(b) - sum(a) || reach(b) - reach(a));
  const tiers = wholeThreat() && lines.some((l) => l.rank);
  const private_ = lines.some((l) => l.epsilon);
  const measured = lines.some((l) => useful(l));
  const protocols = [...new Set(list.map((c) => c.protocol))];
  const about = protocols.length > 3 ? `${protocols.length} protocols` : protocols.join("; ");
  const further = FURTHER.filter((c) => lines.some((l) => known(l.rank?.[c.key])));
  const undefended = lines.find((l) => l.defense === "none")?.rank?.tier;
  // What a defense promises and costs is read beside its worst case; attacks, however many, come behind.
  const head = el(
    "tr",
    {},
    header("defense"),
    tiers && header("tier", "right"),
    header("worst", "right"),
    measured && header("utility", "right wrap"),
    private_ && header("epsilon", "right wrap"),
    further.map((c) => header(c.key, c.numeric ? "right wrap" : "")),
    attacks.map((a) => sortable(`attack:${a}`, a, state.order, { class: "right code" }, "this attack's leak on each defense")),
  );
  const body = order(lines).map((line) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: "code" }, label(line.defense)),
      tiers && tierOf(line, undefended),
      worstOf(line),
      measured && utility(line),
      private_ && el("td", { class: "right" }, claim(line.epsilon)),
      further.map((c) => el("td", { class: c.numeric ? "right" : "" }, FORMATS[c.format](line.rank?.[c.key]))),
      attacks.map((a, i) => cellOf(line, a, i === 0)),
    ),
  );
  const name = `${list[0].dataset}, ${list[0].encoder}`;
  return el(
    "section",
    {},
    el("h2", {}, list[0].dataset, el("span", {}, `${list[0].encoder} · ${about}`)),
    el(
      "div",
      { class: "frame", role: "region", tabindex: 0, "aria-label": name },
      el("table", { class: "matrix", "data-sorts": "order" }, el("thead", {}, head), el("tbody", {}, body)),
    ),
  );
};

const drawBoard = (parent, shown) => {
  const groups = [...grouped(shown, placeOf).values()];
  const end = el("div");
  parent.append(end);
  return sliced(parent, null, groups.length, 3, (from, to) => end.append(...groups.slice(from, to).map(section)));
};

// Arrow keys walk the board.
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

const walk = (event) => {
  const at = event.target.closest(".matrix td");
  const step = STEPS[event.key];
  if (!at || !step) return;
  let [down, across] = [at.parentElement, at.cellIndex];
  for (;;) {
    down = step[0] ? (step[0] > 0 ? down.nextElementSibling : down.previousElementSibling) : down;
    across += step[1];
    const next = down?.cells[across];
    if (!next) return;
    const button = next.querySelector("button");
    if (!button) continue;
    event.preventDefault();
    button.focus();
    // The browser takes what lies below a fixed column for seen.
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
    return;
  }
};
