// What is asked for: kept in the address, so that a view can be shared.

const CHOICES = ["suite", "dataset", "encoder", "defense", "attack"];
const KNOWLEDGE = ["labels", "corpus", "public", "encoder", "defense", "oracle", "gradients"];
for (const word of new Set(cells.flatMap((cell) => cell.sees)))
  if (word !== "encodings" && !KNOWLEDGE.includes(word)) KNOWLEDGE.push(word);

const HOME = {
  view: "board",
  suite: Object.keys(packed.suites)[0] ?? "",
  ...{ dataset: "", encoder: "", defense: "", attack: "", without: "", q: "" },
  ...{ sort: "-value", order: "worst", cell: "" },
};

let state = { ...HOME };

const read = () => {
  const asked = new URLSearchParams(location.hash.slice(1));
  state = { ...HOME };
  for (const name of Object.keys(HOME)) if (asked.has(name)) state[name] = asked.get(name);
  if (state.view !== "table") state.view = "board";
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
      !cell.sees.some((word) => barred.has(word)) &&
      terms.every((term) => textOf(cell).includes(term)),
  );
};

// A tier compares a defense's worst case over all attacks of a suite; with some of them left out it would mislead.
const wholeThreat = () => Boolean(state.suite) && !state.without && !state.attack && !state.q;
