// Every cell on a line.

const COLUMNS = [
  ["defense", "Defense", (c) => c.defense, ""],
  ["attack", "Attack", (c) => c.attack, ""],
  ["value", "Leak", (c) => (ranks(c) ? c.value : null), "right"],
  ["high", "95 % interval", (c) => c.high, "right"],
  ["random", "Random", (c) => c.random, "right"],
  ["dataset", "Data set", (c) => c.dataset, ""],
  ["encoder", "Encoder", (c) => c.encoder, ""],
  ["sees", "Attacker sees", (c) => c.sees.join(", "), ""],
  ["protocol", "Examples × epochs", (c) => c.protocol, ""],
  ["epsilon", "ε claimed → accounted", (c) => c.epsilon?.nominal, "right"],
  ["attack_s", "Seconds", (c) => c.attack_s, "right"],
  ["peak_mib", "MiB", (c) => c.peak_mib, "right"],
  ["runs", "Runs", (c) => c.ids.length, "right"],
];

const runs = (cell) => (cell.failed.length ? `${cell.ids.length}, ${cell.failed.length} failed` : String(cell.ids.length));

const row = (cell) => {
  const value = leak(cell);
  value.tabIndex = -1; // the first column opens the same cell: one stop for the keyboard is enough
  return el(
    "tr",
    { "data-cell": cell.index },
    el("th", { scope: "row" }, el("button", { type: "button", class: "open", "data-cell": cell.index }, label(cell.defense))),
    el("td", { class: "code" }, cell.attack),
    el("td", { class: "right" }, value),
    el("td", { class: "right" }, range(cell.low, cell.high)),
    el("td", { class: "right" }, number(cell.random)),
    el("td", { class: "code" }, cell.dataset),
    el("td", { class: "code" }, cell.encoder),
    el("td", {}, cell.sees.join(", ")),
    el("td", {}, cell.protocol),
    el("td", { class: "right" }, claim(cell.epsilon)),
    el("td", { class: "right" }, seconds(cell.attack_s)),
    el("td", { class: "right" }, known(cell.peak_mib) ? Math.round(cell.peak_mib).toLocaleString("en") : "–"),
    el("td", { class: "right" }, runs(cell)),
  );
};

const drawTable = (parent, shown) => {
  const key = state.sort.replace(/^-/, "");
  const asked = COLUMNS.find(([name]) => name === key) ?? COLUMNS[2];
  const sorted = [...shown].sort(by(asked[2], state.sort.startsWith("-")));
  const body = el("tbody");
  const head = el("tr", {}, COLUMNS.map(([name, label, , kind]) => sortable(name, label, state.sort, { class: kind })));
  const table = el("table", { class: "flat", "data-sorts": "sort", "aria-rowcount": sorted.length + 1 }, el("thead", {}, head), body);
  const frame = el("div", { class: "frame", role: "region", tabindex: 0, "aria-label": "All cells" }, table);
  parent.append(frame);
  return sliced(frame, frame, sorted.length, 80, (from, to) => body.append(...sorted.slice(from, to).map(row)));
};
