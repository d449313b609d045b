// The page: which series, method and level is shown; tables that sort; files; themes and paper.
const chosen = { name: report.tracks[0].name, method: report.tracks[0].method, level: 0 };
const PAPER = 720;  // the width of a chart in print, in CSS pixels, before it is fitted to the paper
const SPANS = 12;  // lines of the table under a chart

function made(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

const columnsOf = (spec) => [spec.track.time ? "time" : "round", ...spec.series.map((s) => s.label)];

function csvOf(id) {
  const { spec } = charts.find((c) => c.spec.id === id), { track, dots } = spec;
  const columns = [...spec.columns, ...(dots ? [dots.column] : [])], shown = columns.map(digits);
  const rows = Array.from(spec.x, (x, i) => [track.dates ? dated(x) : x, ...columns.map((c, j) => shown[j](c[i]))]);
  return lines([[...columnsOf(spec), ...(dots ? [dots.label] : [])], ...rows]);
}

// The chart as a table: means over equal stretches.
function stretches(spec) {
  const n = spec.x.length, spans = Math.min(SPANS, n);
  const table = made("table", {}, made("thead", {}, made("tr", {}, ...["from", ...columnsOf(spec).slice(1)].map((h, i) => made("th", { scope: "col", class: i ? "n" : "" }, h)))));
  const body = made("tbody");
  for (let s = 0; s < spans; s++) {
    const from = Math.floor((s * n) / spans), to = Math.floor(((s + 1) * n) / spans);
    const means = spec.columns.map((c) => {
      const known = Array.from(c.slice(from, to)).filter((v) => !Number.isNaN(v));
      return known.length ? known.reduce((a, b) => a + b, 0) / known.length : NaN;
    });
    body.append(made("tr", {}, made("td", {}, moment(spec.track, spec.x[from])), ...means.map((m) => made("td", { class: "n" }, spec.show(m)))));
  }
  table.append(body);
  return made("div", { class: "scroll" }, table);
}

function shown(spec, width) {
  const holder = made("div", { class: "chart", id: `chart-${spec.id}`, tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": spoken(spec) });
  const button = made("button", { type: "button", class: "csv", "aria-label": `Download the data of: ${spec.title}` }, "CSV");
  button.onclick = () => download(`${report.title}-${spec.track.name}-${spec.id}`, csvOf(spec.id));
  const details = made("details", {}, made("summary", {}, "As a table"));
  details.ontoggle = () => { if (details.open && details.children.length === 1) details.append(stretches(spec)); };
  const figure = made("figure", {}, made("figcaption", {}, made("h2", {}, spec.title), button), made("p", {}, spec.said), holder, details);
  document.getElementById("charts").append(figure);
  const wide = width(holder);
  const u = new uPlot(options(spec, wide), seen(spec, wide), holder);
  for (const canvas of holder.querySelectorAll("canvas")) canvas.setAttribute("aria-hidden", "true");
  follow(u, holder);
  return { spec, u, holder };
}

const width = (holder) => Math.max(240, Math.floor(holder.getBoundingClientRect().width));

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
  const same = report.tracks.filter((t) => t.name === chosen.name);
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
  const { x } = current.mine, n = x.length;
  const around = x[n - 1] > x[0] ? 0 : 1;  // of a single moment
  Object.assign(view, { first: x[0] - around, last: x[n - 1] + around });
  view.least = Math.min(view.last - view.first, (8 * (view.last - view.first)) / n);
  if (!keep) Object.assign(view, { min: view.first, max: view.last });
  drawn(width);
  for (const row of document.querySelectorAll("#streams tbody tr")) row.setAttribute("aria-current", row.dataset.row === chosen.name);
  document.documentElement.dataset.ready = "yes";
  performance.mark("charts");
}

// At once, with the colours of the moment: paper does not wait.
function drawn(width) {
  if (!current) return;
  const place = document.getElementById("charts");
  place.style.minHeight = `${place.offsetHeight}px`;  // the page does not jump while charts are replaced
  for (const { u } of charts) u.destroy();
  place.replaceChildren(made("p", { class: "paper" }, `Charts: ${current.mine.track.name}`
    + `${current.mine.track.method ? `, ${current.mine.track.method}` : ""}, ${asked(report.levels[chosen.level])}.`));
  charts = [];
  rounds();
  for (const spec of specs(current, chosen.level)) charts.push(shown(spec, width));
  place.style.minHeight = "";
  tellRange();
}

function choice(label, key, values, text) {
  const select = made("select", { id: `choose-${key}` }, ...values.map((v, i) => made("option", { value: i }, text(v, i))));
  select.onchange = () => { chosen[key] = key === "level" ? +select.value : values[select.value]; show(key !== "name"); };
  if (values.length > 1) document.getElementById("chosen").append(made("label", {}, `${label} `, select));
  return select;
}

const valueOf = (cell) => cell.dataset.v ?? cell.textContent;
function sorted(table, head, at) {
  const up = head.getAttribute("aria-sort") === "ascending", body = table.tBodies[0];
  const key = (row) => { const v = valueOf(row.cells[at]); return row.cells[at].classList.contains("n") ? (v === "" ? NaN : v === "inf" ? Infinity : +v) : v; };
  const keyed = Array.from(body.rows, (row) => [key(row), row]);
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a < b ? -1 : a > b ? 1 : 0);
  const none = (v) => Number.isNaN(v);
  keyed.sort(([a], [b]) => (none(a) || none(b) ? none(a) - none(b) : up ? order(b, a) : order(a, b)));
  for (const th of table.tHead.rows[0].cells) th.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", up ? "descending" : "ascending");
  body.append(...keyed.map(([, row]) => row));
}

const tableText = (table) => lines([table.tHead.rows[0], ...table.tBodies[0].rows].map((row) => Array.from(row.cells, valueOf)));

function begin() {
  for (const table of document.querySelectorAll("table[id]")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, at) => { const b = head.querySelector("button"); if (b) b.onclick = () => sorted(table, head, at); });
  }
  for (const button of document.querySelectorAll("[data-table]")) button.onclick = () => download(`${report.title}-${button.dataset.table}`, tableText(document.getElementById(button.dataset.table)));
  const names = [...new Set(report.tracks.map((t) => t.name))];
  const series = choice("Series", "name", names, (v) => v);
  choice("Method", "method", [...new Set(report.tracks.map((t) => t.method))], (v) => v || "–");
  choice("Level", "level", report.levels, asked);
  for (const button of document.querySelectorAll("[data-do]")) button.onclick = () => actions[button.dataset.do]();
  const table = document.getElementById("streams");
  if (table) {
    const find = made("input", { id: "streams-find", type: "search", placeholder: "Find a series", "aria-label": "Find a series" });
    table.closest(".scroll").before(find);
    const there = new Set(names);
    const go = (row) => { if (row && there.has(row.dataset.row)) { chosen.name = row.dataset.row; series.value = names.indexOf(chosen.name); show(); document.getElementById("bar").scrollIntoView({ block: "start" }); } };
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
    table.tBodies[0].onclick = (e) => go(e.target.closest("tr"));
    table.tBodies[0].onkeydown = (e) => {
      const row = e.target.closest("tr"), side = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[e.key];
      if (!side && e.key !== "Enter" && e.key !== " ") return;
      e.preventDefault();
      if (!side) go(row);
      else if (next(row, side)) { stopAt(next(row, side)); stop.focus(); }
    };
  }
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("charts").append(made("p", { class: "note bad" }, "This browser is too old to draw the charts (it lacks DecompressionStream); the tables are complete."));
    return;
  }
  document.getElementById("bar").hidden = document.getElementById("hint").hidden = false;
  const again = () => { for (const { u, spec, holder } of charts) { const w = width(holder); if (w !== u.width) u.setSize(options(spec, w)); } };
  new ResizeObserver(() => requestAnimationFrame(again)).observe(document.querySelector("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(true));
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; drawn(() => PAPER); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; drawn(width); });
  show();
}

begin();
