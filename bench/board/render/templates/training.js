// Suites of training: what defenses leave of a task, a table for each data set and encoder.

const trained = rows(packed.utility.columns, packed.utility.count);

const trainedHere = () =>
  trained.filter(
    (row) =>
      (!state.suite || row.suites.includes(state.suite)) &&
      chosen("dataset", row.dataset) &&
      chosen("encoder", row.encoder) &&
      chosen("defense", row.defense),
  );

// A suite without attacks has a view of its own, whatever view was asked for.
const isTraining = (suite) => Boolean(suite) && !cells.some((c) => c.suites.includes(suite)) && trained.some((r) => r.suites.includes(suite));

const trainingLines = (list) =>
  list.flatMap((row) => Object.entries(row.metrics).map(([metric, [mean, deviation, undefended, majority]]) => ({ row, metric, mean, deviation, undefended, majority })));

const TRAINING = [
  ["defense", "defense", "the defense, with the options that differ from its defaults", (l) => l.row.defense, (l) => label(l.row.defense)],
  ["metric", "metric", "the task's own metric, on dev data", (l) => l.metric, (l) => l.metric],
  ["mean", "mean ± deviation", "over seeds; without a deviation it is of one seed", (l) => l.mean, (l) => `${number(l.mean)}${known(l.deviation) ? ` ± ${number(l.deviation)}` : ""}`],
  ["undefended", "undefended", "what the same training reaches without a defense", (l) => l.undefended, (l) => number(l.undefended)],
  ["majority", "constant answer", "what a model reaches that always answers the same", (l) => l.majority, (l) => number(l.majority)],
  ["epsilon", "ε claimed → actual", "what the defense claims, and what an accountant finds", (l) => l.row.epsilon?.nominal, (l) => claim(l.row.epsilon)],
  ["epochs", "epochs", "passes over the data in training", (l) => l.row.epochs, (l) => count(l.row.epochs)],
  ["seeds", "seeds", "training runs behind the mean", (l) => l.row.seeds.length, (l) => count(l.row.seeds.length)],
];

const trainingSection = (list) => {
  const key = state.order.replace(/^-/, "");
  const [, , , value] = TRAINING.find(([name]) => name === key) ?? TRAINING[2];
  const down = TRAINING.some(([name]) => name === key) ? state.order.startsWith("-") : true;
  const lines = trainingLines(list).sort(by((l) => l.row.defense, false)).sort(by(value, down));
  const right = (name) => (["defense", "metric"].includes(name) ? "" : "right");
  const head = el("tr", {}, TRAINING.map(([name, title, said]) => sortable(name, title, state.order, { class: right(name) }, said)));
  const body = lines.map((line) =>
    el("tr", {}, TRAINING.map(([name, , , , shown], i) => (i ? el("td", { class: right(name) }, shown(line)) : el("th", { scope: "row", class: "code" }, shown(line))))),
  );
  const name = `${list[0].dataset}, ${list[0].encoder}`;
  return el(
    "section",
    {},
    el("h2", {}, list[0].dataset, el("span", {}, list[0].encoder)),
    el(
      "div",
      { class: "frame", role: "region", tabindex: 0, "aria-label": name },
      el("table", { class: "matrix", "data-sorts": "order" }, el("thead", {}, head), el("tbody", {}, body)),
    ),
  );
};

const drawTraining = (parent) => {
  const groups = [...grouped(trainedHere(), placeOf).values()];
  const end = el("div");
  parent.append(end);
  return sliced(parent, null, groups.length, 3, (from, to) => end.append(...groups.slice(from, to).map(trainingSection)));
};
