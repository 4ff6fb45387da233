// Leak against accuracy: a point for each defense, a panel for each data set and encoder. Points can be hovered, reached by
// keyboard and opened. SVG is put together element by element, as everything else: text from records stays text.

const svg = (tag, props, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props ?? {})) node.setAttribute(name, value);
  node.append(...children.flat().filter(Boolean));
  return node;
};

const WIDE = 420, HIGH = 300, EDGE = { left: 44, right: 16, top: 16, bottom: 40 };

const pointsOf = (list) => {
  const lines = [...grouped(list, (c) => c.defense)].map(([defense, same]) => lineOf(defense, same));
  return lines.flatMap((line) => {
    const [metric, [mean, , undefended, majority] = []] = useful(line) ?? [];
    return known(mean) && ranks(line.worst) ? [{ line, metric, mean, undefended, majority, leak: line.worst.value }] : [];
  });
};

const said = (point) =>
  [
    point.line.defense,
    `leak ${number(point.leak)}${guessed(point.line.worst) ? ", no better than guessing" : ""} (${point.line.worst.attack})`,
    `${point.metric} ${number(point.mean)}${known(point.undefended) ? `, undefended ${number(point.undefended)}` : ""}`,
    point.line.epsilon ? `ε ${claim(point.line.epsilon)}` : "",
  ].filter(Boolean);

const chart = (points) => {
  const levels = points.flatMap((p) => [p.mean, p.undefended, p.majority]).filter(known);
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const pad = 0.08 * (high - low || 0.1);
  const x = (value) => EDGE.left + ((value - low + pad) / (high - low + 2 * pad)) * (WIDE - EDGE.left - EDGE.right);
  const y = (value) => HIGH - EDGE.bottom - Math.min(Math.max(value, 0), 1) * (HIGH - EDGE.top - EDGE.bottom);
  const text = (at, up, words, anchor) => svg("text", { x: at, y: up, "text-anchor": anchor }, words);
  const rule = (value, kind) => svg("line", { x1: x(value), x2: x(value), y1: y(0), y2: y(1), class: kind });
  const ticks = [0, 0.5, 1].flatMap((v) => [svg("line", { x1: EDGE.left - 4, x2: WIDE - EDGE.right, y1: y(v), y2: y(v), class: "grid" }), text(EDGE.left - 8, y(v) + 4, v.toFixed(1), "end")]);
  const ends = [low, high].map((v) => text(x(v), HIGH - EDGE.bottom + 16, number(v), "middle"));
  const marks = points.map((p) =>
    svg(
      "g",
      { class: guessed(p.line.worst) ? "point chance" : "point", tabindex: 0, role: "button", "data-cell": p.line.worst.index, "aria-label": said(p).join("; ") },
      svg("title", {}, said(p).join("\n")),
      svg("circle", { cx: x(p.mean), cy: y(p.leak), r: 14, class: "touch" }),
      svg("circle", { cx: x(p.mean), cy: y(p.leak), r: 5 }),
    ),
  );
  const [first] = points;
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", role: "group", "aria-label": "leak against accuracy" },
    ticks,
    known(first.majority) ? rule(first.majority, "constant") : null,
    known(first.undefended) ? rule(first.undefended, "undefended") : null,
    ends,
    text((WIDE + EDGE.left) / 2, HIGH - 6, `${first.metric}; dashed: undefended, dotted: constant answer`, "middle"),
    marks,
  );
};

const chartSection = (list) => {
  const points = pointsOf(list);
  const told = el("p", { class: "told", role: "status" }, "Up: leak of the worst case. Point at a mark, or reach it by the tab key.");
  const drawing = chart(points);
  const tell = (event) => {
    const at = event.target.closest?.(".point");
    if (at) told.textContent = at.getAttribute("aria-label");
  };
  for (const kind of ["pointerover", "focusin"]) drawing.addEventListener(kind, tell);
  return el("section", {}, el("h2", {}, list[0].dataset, el("span", {}, list[0].encoder)), drawing, told);
};

const drawChart = (parent, shown) => {
  const groups = [...grouped(shown, placeOf).values()].filter((list) => pointsOf(list).length > 1);
  const end = el("div", { class: "charts" });
  parent.append(end);
  if (!groups.length) end.append(el("p", {}, "No two defenses here have both a leak and an accuracy: choose another suite."));
  return sliced(parent, null, groups.length, 4, (from, to) => end.append(...groups.slice(from, to).map(chartSection)));
};
