// The page: which series, method and level is shown; tables; themes and paper.
const chosen = { name: report.names[0], method: report.methods[0], level: 0 };

// The curves of another method at the rounds of this one; null if only times could tell which these are, and there are none.
function beside(other, { track, x }) {
  if (other.x.length === x.length && x.every((v, i) => v === other.x[i])) return other;
  if (!track.time || !other.track.time) return null;
  const moved = (level) => Object.fromEntries(["coverage", "width", "sum"].map((key) => [key, aligned(other.x, x, level[key])]));
  return { ...other, levels: other.levels.map((level) => ({ ...level, ...moved(level) })) };
}

let current = null;  // what is drawn: the track of the chosen method, those of the others, and names of what cannot be drawn
let asks = 0;
async function show(keep = false) {
  const ask = ++asks;
  const order = (t) => report.methods.indexOf(t.method);
  const same = report.tracks.filter((t) => t.name === chosen.name).sort((a, b) => order(a) - order(b));
  const first = same.find((t) => t.method === chosen.method) || same[0];
  const mine = await loaded(first), others = [], without = [];
  for (const t of same) {
    const other = t === first ? null : beside(await loaded(t), mine);
    if (other) others.push(other);
    else if (t !== first) without.push(t.method);
  }
  if (ask !== asks) return;  // something else was chosen meanwhile
  keep = keep && current !== null;  // before the first draw there is no stretch to keep
  current = { mine, others, without };
  track_ = mine.track;
  opened(mine.x, keep);
  drawn(width);
  for (const row of document.querySelectorAll("#streams tbody tr")) row.setAttribute("aria-current", row.dataset.row === chosen.name);
  for (const one of document.querySelectorAll(".multiple")) one.setAttribute("aria-pressed", one.dataset.name === chosen.name);
  document.documentElement.dataset.ready = "yes";
  performance.mark("charts");
}

// At once, with the colours of the moment: paper does not wait.
function drawn(width) {
  if (!current) return;
  const place = document.getElementById("charts"), { mine } = current;
  place.style.minHeight = `${place.offsetHeight}px`;  // the page does not jump while charts are replaced
  for (const { u } of charts) u.destroy();
  place.replaceChildren(made("p", { class: "paper" }, `Charts: ${mine.track.name}`
    + `${mine.track.method ? `, ${mine.track.method}` : ""}, ${asked(report.levels[chosen.level])}.`));
  charts = [];
  rounds();
  for (const spec of specs(current, chosen.level, report)) charts.push(shown(spec, width, report.title));
  place.style.minHeight = "";
  strips(mine, chosen.level);
  listAlarms(document.getElementById("alarms"), mine, chosen.level);
  document.querySelector("[data-do=worst]").hidden = !mine.levels[chosen.level].worst_at;
  tellRange();
}
actions.worst = () => { const at = current && current.mine.levels[chosen.level].worst_at; if (at) around(...at); };

function choice(label, key, values, text) {
  const select = made("select", { id: `choose-${key}` }, ...values.map((v, i) => made("option", { value: i }, text(v, i))));
  select.onchange = () => { chosen[key] = key === "level" ? +select.value : values[select.value]; show(key !== "name"); };
  if (values.length > 1) document.getElementById("chosen").append(made("label", {}, `${label} `, select));
  return select;
}

// The table of series: a row shows its charts, arrows go from row to row, and a field finds.
function streamRows(table, names, go) {
  const find = made("input", { id: "streams-find", type: "search", placeholder: "Find a series", "aria-label": "Find a series" });
  table.closest(".scroll").before(find);
  const there = new Set(names), take = (row) => { if (row && there.has(row.dataset.row)) go(row.dataset.row); };
  const rows = Array.from(table.tBodies[0].rows).filter((row) => there.has(row.dataset.row));
  let stop = null;  // where Tab stops; arrows go on from there, for thousands of stops would be a wall
  const stopAt = (row) => { if (stop) stop.tabIndex = -1; stop = row; stop.tabIndex = 0; };
  for (const row of rows) { row.classList.add("has"); row.tabIndex = -1; }
  if (rows.length) stopAt(rows[0]);
  const next = (row, side) => { do row = row[side]; while (row && (row.hidden || !row.classList.contains("has"))); return row; };
  find.oninput = () => {
    for (const row of table.tBodies[0].rows) row.hidden = !row.dataset.row.toLowerCase().includes(find.value.toLowerCase());
    if (stop && stop.hidden) stopAt(rows.find((row) => !row.hidden) || stop);
  };
  table.tBodies[0].onclick = (e) => take(e.target.closest("tr"));
  table.tBodies[0].onkeydown = (e) => {
    const row = e.target.closest("tr"), side = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[e.key];
    if (!side && e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    if (!side) take(row);
    else if (next(row, side)) { stopAt(next(row, side)); stop.focus(); }
  };
}

function begin() {
  for (const table of document.querySelectorAll("table[id]")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, at) => { const b = head.querySelector("button"); if (b) b.onclick = () => sorted(table, head, at); });
  }
  for (const button of document.querySelectorAll("[data-table]")) button.onclick = () => download(`${report.title}-${button.dataset.table}`, tableText(document.getElementById(button.dataset.table)));
  for (const part of document.querySelectorAll("section[data-target]")) bandsIn(Array.from(part.querySelectorAll("td.band")), +part.dataset.target);
  explained();
  const names = report.names;
  const series = choice("Series", "name", names, (v) => v);
  choice("Method", "method", report.methods, (v) => v || "–");
  choice("Level", "level", report.levels, asked);
  for (const button of document.querySelectorAll("[data-do]")) button.onclick = () => actions[button.dataset.do]();
  const go = (name) => { chosen.name = name; series.value = names.indexOf(name); show(); document.getElementById("shown").scrollIntoView({ block: "start" }); };
  const table = document.getElementById("streams");
  if (table) streamRows(table, names, go);
  for (const one of document.querySelectorAll(".multiple")) one.onclick = () => go(one.dataset.name);
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("charts").append(made("p", { class: "note bad" }, "This browser is too old to draw the charts (it lacks DecompressionStream); the tables are complete."));
    return;
  }
  for (const id of ["bar", "hint"]) document.getElementById(id).hidden = false;
  followStrip();
  const again = () => { fitted(); if (current) strips(current.mine, chosen.level); };
  new ResizeObserver(() => requestAnimationFrame(again)).observe(document.querySelector("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(true));
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; drawn(() => PAPER); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; drawn(width); });
  show();
}

begin();
