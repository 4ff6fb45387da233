// Every cell on a line.

// Columns come with the data (bench/board/columns.py). These are drawn or sorted in a way of their own; any other shows
// its value as its format says.
const DRAWN = {
  defense: (c) => el("th", { scope: "row" }, el("button", { type: "button", class: "open", "data-cell": c.index }, label(c.defense))),
  value: (c) => {
    const value = leak(c);
    value.tabIndex = -1; // the first column opens the same cell: one stop for the keyboard is enough
    return el("td", { class: "right" }, value);
  },
  interval: (c) => el("td", { class: "right" }, range(c.low, c.high)),
  sees: (c) => el("td", {}, c.sees.join(", ")),
};
const SORTS = {
  value: (c) => (ranks(c) ? c.value : null),
  interval: (c) => c.high,
  sees: (c) => c.sees.join(", "),
  epsilon: (c) => c.epsilon?.nominal,
};
const CODE = ["attack", "dataset", "encoder"];

const kindOf = (shown) => (shown.numeric ? "right" : CODE.includes(shown.key) ? "code" : "");

const plain = (shown, cell) => el("td", { class: kindOf(shown) }, FORMATS[shown.format](cell[shown.key]));

const row = (cell) =>
  el("tr", { "data-cell": cell.index }, packed.titles.flat.map((shown) => (DRAWN[shown.key] ?? ((c) => plain(shown, c)))(cell)));

const drawTable = (parent, shown) => {
  const key = state.sort.replace(/^-/, "");
  const asked = packed.titles.flat.some((c) => c.key === key) ? key : "value";
  const sorted = [...shown].sort(by(SORTS[asked] ?? ((c) => c[asked]), state.sort.startsWith("-")));
  const body = el("tbody");
  const head = el("tr", {}, packed.titles.flat.map((c) => sortable(c.key, c.title, state.sort, { class: c.numeric ? "right" : "" }, c.explanation)));
  const table = el("table", { class: "flat", "data-sorts": "sort", "aria-rowcount": sorted.length + 1 }, el("thead", {}, head), body);
  const frame = el("div", { class: "frame", role: "region", tabindex: 0, "aria-label": "All cells" }, table);
  parent.append(frame);
  return sliced(frame, frame, sorted.length, 80, (from, to) => body.append(...sorted.slice(from, to).map(row)));
};
