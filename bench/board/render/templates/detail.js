// One cell in full: what was measured, what it cost, what went wrong, and how to repeat it.

const titled = (title, ...content) => el("section", {}, el("h3", {}, title), content);

const grid = (head, lines) =>
  el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "plain" },
      el("thead", {}, el("tr", {}, head.map((h, i) => el("th", { scope: "col", class: i ? "right" : null }, h)))),
      el("tbody", {}, lines.map((line) => el("tr", {}, line.map((v, i) => el("td", { class: i ? "right" : null }, v))))),
    ),
  );

// The interval on a line from 0 to 1, with a tick where guessing at random ends up.
const whisker = (cell) =>
  el(
    "div",
    { class: "whisker", "aria-hidden": "true" },
    el("i", { class: "span", "--v": cell.low ?? cell.value, "--w": (cell.high ?? cell.value) - (cell.low ?? cell.value) }),
    known(cell.random) && el("i", { class: "chance", "--v": cell.random }),
    el("i", { class: "dot", "--v": cell.value }),
    el("small", {}, el("span", {}, "0"), known(cell.random) && el("span", {}, "dashed: a random guess"), el("span", {}, "1")),
  );

const headline = (cell) => {
  if (cell.value === null) return el("p", { class: "headline" }, el("b", {}, "failed"), " every run of this cell failed");
  return [
    el("p", { class: "headline" }, el("b", {}, number(cell.value)), ` ${cell.metric} ${range(cell.low, cell.high)}`),
    ranks(cell) && whisker(cell),
  ].filter(Boolean);
};

const facts = (cell) => {
  const chance = known(cell.random_low) ? ` ${`[${exact(cell.random_low)}, ${exact(cell.random_high)}]`}` : "";
  const cost = [
    known(cell.attack_s) && `${seconds(cell.attack_s)} s`,
    known(cell.peak_mib) && `${Math.round(cell.peak_mib).toLocaleString("en")} MiB at most`,
  ].filter(Boolean);
  const lines = [
    ["Stale records", cell.stale.length && `code has changed since: ${cell.stale.join(", ")}`],
    ["Attacker sees", cell.sees.join(", ")],
    ["Protocol", `${cell.protocol}; seeds ${cell.seeds.join(", ")}`],
    ["Random level", known(cell.random) && `${exact(cell.random)}${chance}`],
    ["ε claimed → actual", claim(cell.epsilon)],
    ["Time and memory of a run", cost.join(", ")],
    ["Suites", cell.suites.join(", ")],
    ["Stronger attack", cell.stronger],
    ["Marks", marksOf(cell).map((m) => `${MARKS[m][0]} ${MARKS[m][1]}: ${MARKS[m][2]}`).join("; ")],
  ];
  return el("dl", {}, lines.filter(([, said]) => said).map(([name, said]) => el("div", {}, el("dt", {}, name), el("dd", {}, said))));
};

const published = (cell) => {
  const ours = new Map(cell.metrics().map(([name, ...values]) => [name, values]));
  const line = (p) => {
    const [value, low, high] = ours.get(p.metric) ?? [];
    return [el("span", {}, p.metric, el("small", {}, p.source)), number(p.value), `${number(value)} ${range(low, high)}`];
  };
  return cell.published.length && titled("Published", grid(["metric", "published", "ours"], cell.published.map(line)));
};

const sample = (s) => {
  const near = s.near.map(([name, v]) => `${name} ${number(v)}`).join(", ");
  const other = s.right ? "another sentence of the same mix" : "a wrong sentence";
  const said = s.answer ?? `${other}, not shown${near ? ` (${near})` : ""}`;
  const same = s.answer === s.example;
  return el(
    "li",
    {},
    el("q", {}, s.example),
    el("p", { class: s.right ? "right-answer" : "wrong-answer" }, s.right ? "✓ found" : "✗ ", same ? "" : s.right ? `: ${said}` : said),
  );
};

// Why there are none: most suites keep no text of their data, so that records are no copy of it.
const none = (cell) =>
  cell.sees.includes("corpus") ? "None was kept for these runs: only a few suites keep some." : "This attack names no sentences.";

// `shown` holds the text where it can be seen; without one, it is shown below the button if the clipboard is closed.
const copied = async (button, text, shown) => {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const place = shown ?? button.parentElement.appendChild(el("code", {}, text));
    getSelection().selectAllChildren(place); // no right to the clipboard: at least selected
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = before), 1500);
};

const copying = (text) => {
  const button = el("button", { type: "button", class: "copy" }, "Copy");
  const said = el("code", {}, text);
  button.addEventListener("click", () => copied(button, text, said));
  return el("div", { class: "command" }, said, button);
};

const others = (cell) => {
  const same = (c) => c.defense === cell.defense && c.attack === cell.attack && placeOf(c) === placeOf(cell) && c !== cell;
  const found = cells.filter(same);
  const said = (c) => `${c.protocol}; seeds ${c.seeds.join(", ")}`;
  const line = (c) => el("li", {}, el("button", { type: "button", class: "open", "data-cell": c.index }, said(c)), ` ${number(c.value)}`);
  return found.length > 0 && titled("Other protocols and seeds", el("ul", {}, found.map(line)));
};

const fill = (cell) => {
  const samples = samplesOf(cell);
  const failed = (f) => el("li", {}, `seed ${f.seed}, ${f.status}: `, el("span", { class: "error" }, f.error ?? ""), el("code", {}, f.id));
  const named = (name) => el("span", { title: packed.explanations[name] ?? null }, name);
  const line = ([name, value, low, high, chance]) => [named(name), number(value), range(low, high), exact(chance)];
  $("detail").replaceChildren(
    el(
      "div",
      { class: "head" },
      el("h2", { id: "detail-title" }, el("span", { class: "code" }, cell.attack), " on ", el("span", { class: "code" }, cell.defense)),
      el("button", { type: "button", class: "close", "aria-label": "Close" }, "✕"),
      el("p", {}, `${cell.dataset} · ${cell.encoder}`),
    ),
    ...[headline(cell)].flat(),
    facts(cell),
    ...[
      cell.failed.length > 0 && titled("Failed runs", el("ul", {}, cell.failed.map(failed))),
      cell.value !== null && titled("Metrics", grid(["metric", "value", "95 % interval", "random"], cell.metrics().map(line))),
      published(cell),
      others(cell),
      titled("Sentences", samples.length > 0 ? el("ul", { class: "samples" }, samples.map(sample)) : el("p", {}, none(cell))),
      titled("Repeat it", copying(commandOf(cell))),
      titled("Records", el("p", { class: "ids" }, cell.ids.map((id) => el("code", {}, id)))),
    ].filter(Boolean),
  );
};

let opener = null;

// The address of an open cell is a step of its own, so that the way back closes the cell and does not leave the page.
let pushed = false;
let typing = 0;

const open = (cell, from) => {
  const fresh = !$("detail").open;
  if (fresh) opener = from;
  fill(cell);
  // What was typed a moment ago belongs to what lies below the cell.
  clearTimeout(typing);
  if ($("q").value !== state.q) change({ q: $("q").value });
  // An address that named the cell has its step already.
  const step = fresh && !state.cell;
  state.cell = cell.key;
  write(step);
  pushed ||= step;
  if (fresh) $("detail").showModal();
  $("detail").scrollTop = 0;
  $("detail").querySelector(".close").focus();
};

const closed = () => {
  // Closed by the page and not by the way back: the step is taken back.
  if (pushed && state.cell) history.back();
  else if (state.cell) {
    state.cell = "";
    write();
  }
  pushed = false;
  // The results may have been drawn anew below the dialog; then the same cell's new button takes the focus.
  const again = opener?.isConnected ? opener : opener && document.querySelector(`#results [data-cell="${opener.dataset.cell}"]`);
  again?.focus();
  opener = null;
};
