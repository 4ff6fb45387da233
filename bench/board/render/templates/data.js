// The board, unpacked from the JSON in the page (bench/board/render/page_data.py says how it was packed).

const packed = JSON.parse(document.getElementById("data").textContent);

const column = (made, count) => {
  if (Array.isArray(made)) return made;
  return "all" in made ? Array(count).fill(made.all) : made.at.map((i) => made.of[i]);
};

const rows = (columns, count) => {
  const filled = Object.entries(columns).map(([name, made]) => [name, column(made, count)]);
  return Array.from({ length: count }, (_, i) => Object.fromEntries(filled.map(([name, values]) => [name, values[i]])));
};

const cells = (() => {
  const metrics = Object.entries(packed.metrics).map(([name, parts]) => [name, parts.map((p) => column(p, packed.count))]);
  return rows(packed.columns, packed.count).map((cell, i) => {
    cell.index = i;
    // One record may stand in several cells: alone for one suite, with other seeds for another.
    cell.key = [cell.ids[0], ...(cell.ids.length > 1 ? [cell.ids.length] : [])].join(".");
    // Metrics are asked for when a cell is opened; 5,000 cells are not worth forty thousand small arrays.
    cell.metrics = () => {
      const found = metrics.filter(([, parts]) => parts[0][i] !== null).map(([name, p]) => [name, ...p.map((v) => v[i])]);
      return cell.value === null ? found : [[cell.metric, cell.value, cell.low, cell.high, cell.random], ...found];
    };
    return cell;
  });
})();

const samplesOf = (cell) =>
  packed.samples[cell.index].map(([example, answer, right, ...near]) => ({
    example: packed.texts[example],
    answer: answer === null ? null : packed.texts[answer],
    right: Boolean(right),
    near: packed.near.map((name, i) => [name, near[i]]).filter(([, value]) => value !== null),
  }));

const commandOf = (cell) => packed.commands[cell.index].map((i) => packed.words[i]).join(" ");

const placeOf = (entry) => `${entry.dataset}\n${entry.encoder}`;

const ranked = new Map(rows(packed.defenses, packed.ranked).map((d) => [`${d.suite}\n${placeOf(d)}\n${d.defense}`, d]));
