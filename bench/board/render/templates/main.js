// Puts the parts together: one listener for each kind of event, whatever there is to click.

let drawn = null;

const select = (name, entries) => {
  const node = document.querySelector(`select[name="${name}"]`);
  node.append(...entries.map(([value, label]) => el("option", { value }, label)));
};

// A name stands for all its settings, which follow it.
const settings = (labels) =>
  [...grouped([...new Set(labels)].sort(words.compare), nameOf)].flatMap(([name, full]) =>
    full.length === 1 && full[0] === name
      ? [[name, name]]
      : [[name, `${name}, all settings`], ...full.filter((l) => l !== name).map((l) => [l, `\u2003${l.slice(name.length + 1)}`])],
  );

const plainly = (labels) => [...new Set(labels)].sort(words.compare).map((l) => [l, l]);

const prepare = () => {
  select("suite", [["", "all"], ...Object.keys(packed.suites).map((s) => [s, s])]);
  for (const name of ["dataset", "encoder"]) select(name, [["", "all"], ...plainly(cells.map((c) => c[name]))]);
  for (const name of ["defense", "attack"]) select(name, [["", "all"], ...settings(cells.map((c) => c[name]))]);
  $("sees").append(...KNOWLEDGE.map((w) => el("label", {}, el("input", { type: "checkbox", value: w }), w)));
  const used = Object.entries(MARKS).filter(([m]) => cells.some((c) => marksOf(c).includes(m))).map(([, mark]) => mark);
  $("legend").append(...used.map(([sign, title, said]) => el("li", { title: said }, el("b", {}, sign), ` ${title}`)));
  const failed = cells.reduce((sum, c) => sum + c.failed.length, 0);
  const n = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
  const lost = [[failed, "failed"], [packed.stale, "stale"]].filter(([count]) => count).map(([count, what]) => `, ${count.toLocaleString("en")} of them ${what}`).join("");
  const size = `${n(cells.length, "cell")} from ${n(packed.records, "record")}${lost}`;
  $("about").textContent = `What attacks read out of text that defenses hide: ${size}.`;
  $("headline").append(...packed.headline.map(([title, text]) => el("p", {}, el("b", {}, `${title}. `), text)));
  const link = (path) => [el("a", { href: `../${path}` }, path.replace(/^pictures\/|\.svg$/g, "").replaceAll("-", " ")), " "];
  if (packed.pictures.length) $("pictures").append("Pictures: ", ...packed.pictures.flatMap(link));
  const wide = matchMedia("(min-width: 48rem)");
  const fit = () => ($("filters").open = wide.matches);
  wide.addEventListener("change", fit);
  fit();
};

const controls = () => {
  for (const name of CHOICES) document.querySelector(`select[name="${name}"]`).value = state[name];
  const barred = without();
  for (const box of $("sees").querySelectorAll("input")) box.checked = !barred.has(box.value);
  if ($("q").value !== state.q) $("q").value = state.q;
  for (const button of $("views").children) button.setAttribute("aria-pressed", button.dataset.view === state.view);
  for (const button of document.querySelectorAll("[data-preset] button"))
    button.setAttribute("aria-pressed", button.dataset.value === state[button.parentElement.dataset.preset]);
  const active = CHOICES.filter((name) => state[name] !== HOME[name]).length + barred.size;
  $("active").textContent = active ? ` (${active})` : "";
  const suite = Object.hasOwn(packed.suites, state.suite) ? packed.suites[state.suite] : null;
  const version = known(suite?.version) ? `, version ${suite.version}` : "";
  const planned = (suite?.places ?? []).reduce((sum, place) => sum + place[3], 0).toLocaleString("en");
  const gaps = suite ? [[suite.missing, `of ${planned} planned runs are not finished`], [suite.failed, "failed"], [suite.stale, "stale records"]].filter(([count]) => count) : [];
  // Where the suite's file could not be read, nothing missing was counted: that is not the same as nothing.
  const unknown = suite?.problem ? `What is missing is not known: ${suite.problem}.` : "";
  const said = suite ? [`${state.suite}${version}`, suite.title].filter(Boolean).join(": ") : "";
  $("suite").textContent = suite
    ? [`${said}.`, unknown, ...gaps.map(([count, what]) => `${count} ${what}.`), suite.differs].filter(Boolean).join(" ")
    : "";
};

const render = () => {
  drawn?.stop();
  controls();
  const parent = el("div");
  $("results").replaceChildren(parent);
  if (isTraining(state.suite)) {
    const many = trainedHere().length;
    $("count").textContent = `${many.toLocaleString("en")} defense${many === 1 ? "" : "s"}, trained: a suite without attacks.`;
    drawn = drawTraining(parent);
    return;
  }
  const shown = found();
  const of = shown.length === cells.length ? "" : ` of ${cells.length.toLocaleString("en")}`;
  const tiers = state.view === "board" && !wholeThreat() ? " Tiers are shown for a whole suite only." : "";
  $("count").textContent = shown.length
    ? `${shown.length.toLocaleString("en")}${of} cells.${tiers}`
    : "No cell fits. Clear a filter, or allow the attacker more.";
  drawn = { table: drawTable, board: drawBoard, chart: drawChart }[state.view](parent, shown);
};

const change = (part) => {
  state = { ...state, ...part };
  write();
  render();
};

const sortBy = (button) => {
  const field = button.closest("table").dataset.sorts;
  const key = button.dataset.sort;
  const frame = [...document.querySelectorAll("#results .frame")].indexOf(button.closest(".frame"));
  const left = button.closest(".frame").scrollLeft;
  // Numbers start with the largest, words with A.
  const first = ["defense", "attack", "dataset", "encoder", "sees", "protocol", "tier"].includes(key) ? key : `-${key}`;
  const other = first === key ? `-${key}` : key;
  change({ [field]: state[field] === first ? other : first });
  const again = document.querySelectorAll("#results .frame")[frame];
  if (!again) return;
  again.scrollLeft = left;
  [...again.querySelectorAll("[data-sort]")].find((b) => b.dataset.sort === key)?.focus({ preventScroll: true });
};

const shownTheme = () => document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

const theme = (wanted) => {
  if (wanted) document.documentElement.dataset.theme = wanted;
  $("theme").textContent = shownTheme() === "dark" ? "Light" : "Dark";
  $("theme").setAttribute("aria-label", `Switch to the ${shownTheme() === "dark" ? "light" : "dark"} theme`);
};

const remembered = (value) => {
  try {
    if (value) localStorage.setItem("theme", value);
    return localStorage.getItem("theme");
  } catch {
    return null; // a page opened from a file may have no storage
  }
};

document.addEventListener("click", (event) => {
  const at = (what) => event.target.closest(what);
  if (at("[data-view]")) return change({ view: at("[data-view]").dataset.view });
  if (at("[data-sort]")) return sortBy(at("[data-sort]"));
  if (at("[data-preset] button")) return change({ [at("[data-preset]").dataset.preset]: at("[data-preset] button").dataset.value });
  if (at("[data-copy]")) return copied(at("[data-copy]"), at("[data-copy]").dataset.copy === "link" ? location.href : packed.citation);
  if (at("#theme")) {
    const other = shownTheme() === "dark" ? "light" : "dark";
    remembered(other);
    return theme(other);
  }
  if (at(".close") || event.target === $("detail")) return $("detail").close();
  const target = at("[data-cell]");
  // Who marks text in a row wants to copy it, not to open the row.
  if (!target || getSelection().toString()) return;
  open(cells[Number(target.dataset.cell)], target.matches("button, .point") ? target : target.querySelector("button"));
});
document.addEventListener("keydown", walk);
document.addEventListener("keydown", (event) => {
  const at = event.target.closest?.(".point");
  if (!at || !["Enter", " "].includes(event.key)) return;
  event.preventDefault();
  open(cells[Number(at.dataset.cell)], at);
});
$("filters").addEventListener("change", (event) => {
  if (event.target.name) return change({ [event.target.name]: event.target.value });
  const barred = [...$("sees").querySelectorAll("input:not(:checked)")].map((box) => box.value);
  change({ without: barred.join(",") });
});
$("filters").addEventListener("reset", (event) => {
  event.preventDefault();
  change({ ...Object.fromEntries(CHOICES.map((name) => [name, HOME[name]])), without: "", q: "", knows: "", surface: "" });
});
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("q").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => change({ q: $("q").value }), 120);
});
$("detail").addEventListener("close", closed);
const arrive = () => {
  const before = drawn && { ...state };
  pushed = false; // an address that somebody typed is no step that a cell's closing could take back
  read();
  // A cell that opens or closes changes nothing below it: the focus stays where it is.
  if (!before || Object.keys(HOME).some((name) => name !== "cell" && state[name] !== before[name])) render();
  // The id of any record will do.
  const asked = state.cell && (cells.find((c) => c.key === state.cell) ?? cells.find((c) => c.ids.includes(state.cell)));
  if (asked) open(asked, document.querySelector(`#results [data-cell="${asked.index}"]`));
  else if ($("detail").open) $("detail").close();
};
addEventListener("hashchange", arrive);
addEventListener("beforeprint", () => drawn?.all());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme());

const kept = remembered();
theme(kept === "dark" || kept === "light" ? kept : null);
prepare();
arrive();
document.documentElement.dataset.ready = "";
