// Elements and numbers. Text from records reaches the document here, as text nodes and plain attributes only.

const $ = (id) => document.getElementById(id);

const el = (tag, props, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("--")) node.style.setProperty(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

const known = (value) => value !== null && value !== undefined;

const number = (value) => {
  if (!known(value)) return "–";
  if (typeof value !== "number") return String(value);
  return Math.abs(value) < 1.0005 ? value.toFixed(3) : Number(value.toPrecision(4)).toLocaleString("en");
};

// Where there is room: a random level of 0.00012 is not 0.
const exact = (value) =>
  typeof value === "number" && value !== 0 && Math.abs(value) < 0.001 ? String(Number(value.toPrecision(2))) : number(value);

const range = (low, high) => (known(low) && known(high) ? `[${number(low)}, ${number(high)}]` : "");

const claim = (epsilon) => {
  if (!epsilon) return "";
  const said = (e) => (typeof e === "number" ? Number(e.toPrecision(4)).toLocaleString("en") : String(e ?? "?"));
  return `${said(epsilon.nominal)} → ${said(epsilon.accounted)}`;
};

const seconds = (s) => (known(s) ? (s < 10 ? s.toFixed(1) : Math.round(s).toLocaleString("en")) : "–");

const count = (value) => (known(value) ? Math.round(value).toLocaleString("en") : "–");

// How columns write their values: the formats of bench/board/formats.py that page_data.py names.
const FORMATS = { number, seconds, count, epsilon: claim, text: (value) => (known(value) ? String(value) : "–") };

// Labels break after a colon or a comma, nowhere else.
const label = (text) => text.split(/(?<=[:,])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));

// Signs, not colours: they print, and a screen reader says the words. Mark → sign, title, explanation.
const MARKS = packed.marks;

const marksOf = (cell) => [...cell.marks, ...(cell.published.length ? ["published"] : [])].filter((m) => m in MARKS);

const describeMark = (cell, mark) => {
  if (mark === "failed") return `${cell.failed.length} of ${cell.seeds.length} runs failed`;
  return mark === "stale" ? `stale records: ${cell.stale.join(", ")} changed` : MARKS[mark][1];
};

const marks = (cell) =>
  el("span", { class: "marks" }, marksOf(cell).map((m) => el("abbr", { title: `${describeMark(cell, m)}: ${MARKS[m][2]}` }, MARKS[m][0])));

const ariaLabel = (cell) => {
  const said = cell.value === null ? "failed" : `${number(cell.value)} ${range(cell.low, cell.high)}`;
  return [`${cell.attack} on ${cell.defense}: ${said}`, ...marksOf(cell).map((m) => describeMark(cell, m))].join(", ");
};

// Shares of what is private; an attack that is judged by anything else is shown and not ranked.
const ranks = (cell) => cell.value !== null && packed.leaks.includes(cell.metric);

// A value and its bar, which opens the cell. The bar's length says what the number says.
const leak = (cell, ...beside) =>
  el(
    "button",
    { type: "button", class: cell.value === null ? "leak none" : "leak", "data-cell": cell.index, "aria-label": ariaLabel(cell) },
    el("span", { class: "number" }, beside, marks(cell), cell.value === null ? "failed" : number(cell.value)),
    cell.value === null || ranks(cell)
      ? el("span", { class: "track", "aria-hidden": "true", "--v": Math.min(Math.max(cell.value ?? 0, 0), 1) })
      : el("small", {}, cell.metric),
  );

// A header that sorts. `sort` is a key, with a minus in front for descending; `title` explains the column.
const sortable = (key, label, sort, props, title) => {
  const now = sort === key ? "ascending" : sort === `-${key}` ? "descending" : null;
  const sign = now === "ascending" ? "▲" : now === "descending" ? "▼" : "";
  return el(
    "th",
    { scope: "col", ...props, "aria-sort": now ?? "none" },
    el("button", { type: "button", "data-sort": key, title }, label, el("span", { class: "sign", "aria-hidden": "true" }, sign)),
  );
};

const words = new Intl.Collator("en", { numeric: true });

// Unknown values last, whichever way it is sorted.
const by = (value, down) => (a, b) => {
  const [x, y] = [value(a), value(b)];
  const [hasX, hasY] = [known(x) && x !== "", known(y) && y !== ""];
  if (!hasX || !hasY) return hasY - hasX;
  const found = typeof x === "number" && typeof y === "number" ? x - y : words.compare(String(x), String(y));
  return down ? -found : found;
};

// Long lists are drawn as far as they are looked at: `draw(from, to)` is called again when the end comes near.
const sliced = (parent, root, total, size, draw) => {
  let done = 0;
  const end = el("div", { class: "end" });
  const more = (to) => {
    draw(done, Math.min(to, total));
    done = Math.min(to, total);
    if (done === total) watch.disconnect();
  };
  const watch = new IntersectionObserver(
    (seen) => {
      if (seen.some((s) => s.isIntersecting)) {
        more(done + size);
        // Observed anew, or an end that stays in sight would not be reported again.
        watch.unobserve(end);
        if (done < total) watch.observe(end);
      }
    },
    { root, rootMargin: "800px" },
  );
  more(size);
  parent.append(end);
  if (done < total) watch.observe(end);
  return { all: () => more(total), stop: () => watch.disconnect() };
};
