// What is asked for: kept in the address, so that a view can be shared.

const CHOICES = ["suite", "dataset", "encoder", "defense", "attack"];
const KNOWLEDGE = ["labels", "corpus", "public", "encoder", "defense", "oracle", "gradients"];
for (const word of new Set(cells.flatMap((cell) => cell.sees)))
  if (word !== "encodings" && !KNOWLEDGE.includes(word)) KNOWLEDGE.push(word);

const HOME = {
  view: "board",
  suite: Object.keys(packed.suites)[0] ?? "",
  ...{ dataset: "", encoder: "", defense: "", attack: "", without: "", q: "" },
  ...{ sort: "-value", order: "worst", cell: "", knows: "", holds: "", surface: "" },
};

// Threat models, as buttons. A list that lacks some private examples says so in the protocol.
const partly = (cell) => /coverage/.test(cell.protocol);
const paired = (cell) => cell.sees.includes("pairs");
const older = (cell) => /attacker holds the (\w+) encoder/.exec(cell.protocol)?.[1] ?? "";
const PRESETS = {
  knows: {
    "": () => true,
    list: (cell) => cell.sees.includes("corpus") && !partly(cell),
    part: (cell) => cell.sees.includes("corpus") && partly(cell),
    none: (cell) => !cell.sees.includes("corpus"),
  },
  holds: {
    "": () => true,
    current: (cell) => !paired(cell) && !older(cell),
    stale: (cell) => older(cell) === "stale",
    initial: (cell) => older(cell) === "initial",
    pairs: paired,
  },
  surface: {
    "": () => true,
    encodings: (cell) => cell.sees.includes("encodings") && !cell.sees.includes("updates"),
    updates: (cell) => cell.sees.includes("updates"),
  },
};
const preset = (cell) => Object.entries(PRESETS).every(([name, kinds]) => kinds[state[name]](cell));

let state = { ...HOME };

const read = () => {
  const asked = new URLSearchParams(location.hash.slice(1));
  state = { ...HOME };
  for (const name of Object.keys(HOME)) if (asked.has(name)) state[name] = asked.get(name);
  if (!["table", "chart"].includes(state.view)) state.view = "board";
  for (const name of Object.keys(PRESETS)) if (!Object.hasOwn(PRESETS[name], state[name])) state[name] = "";
};

const write = (step = false) => {
  const said = new URLSearchParams();
  for (const [name, home] of Object.entries(HOME)) if (state[name] !== home) said.set(name, state[name]);
  history[step ? "pushState" : "replaceState"](null, "", `#${said}`);
};

const without = () => new Set(state.without.split(",").filter(Boolean));

const nameOf = (label) => label.split(":", 1)[0];

const chosen = (name, label) => !state[name] || label === state[name] || nameOf(label) === state[name];

const textOf = (cell) => {
  cell.text ??= [cell.defense, cell.attack, cell.dataset, cell.encoder, cell.protocol, ...cell.sees, ...cell.ids]
    .join(" ")
    .toLowerCase();
  return cell.text;
};

const found = () => {
  const barred = without();
  const terms = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  return cells.filter(
    (cell) =>
      (!state.suite || cell.suites.includes(state.suite)) &&
      chosen("dataset", cell.dataset) &&
      chosen("encoder", cell.encoder) &&
      chosen("defense", cell.defense) &&
      chosen("attack", cell.attack) &&
      preset(cell) &&
      !cell.sees.some((word) => barred.has(word)) &&
      terms.every((term) => textOf(cell).includes(term)),
  );
};

// A tier compares a defense's worst case over all attacks of a suite; with some of them left out it would mislead.
const wholeThreat = () =>
  Boolean(state.suite) && !state.without && !state.attack && !state.q && Object.keys(PRESETS).every((name) => !state[name]);
