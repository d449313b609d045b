// Parts of a page: a chart with its words, its file and its table; tables that sort; bands in tables; words explained.
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

// A chart with its words; ``title`` begins the name of its file.
function shown(spec, width, title) {
  const holder = made("div", { class: "chart", id: `chart-${spec.id}`, tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": spoken(spec) });
  const button = made("button", { type: "button", class: "csv", "aria-label": `Download the data of: ${spec.title}` }, "CSV");
  button.onclick = () => download(`${title}-${spec.track.name}-${spec.id}`, csvOf(spec.id));
  const details = made("details", {}, made("summary", {}, "As a table"));
  details.ontoggle = () => { if (details.open) details.replaceChildren(details.firstChild, stretches(spec)); };
  const figure = made("figure", {}, made("figcaption", {}, made("h2", {}, spec.title), button), made("p", {}, spec.said), holder, details);
  document.getElementById("charts").append(figure);
  const wide = width(holder);
  const u = new uPlot(options(spec, wide), seen(spec, wide), holder);
  for (const canvas of holder.querySelectorAll("canvas")) canvas.setAttribute("aria-hidden", "true");
  follow(u, holder);
  return { spec, u, holder };
}
const width = (holder) => Math.max(240, Math.floor(holder.getBoundingClientRect().width));
const fitted = () => { for (const { u, spec, holder } of charts) { const w = width(holder); if (w !== u.width) u.setSize(options(spec, w)); } };

// The strip of a series at a level: its band and outcomes, or the sizes of its sets.
function strips({ x, y, levels }, level) {
  const { lower, upper, size, alarms, worst_at } = levels[level];
  drawStrip({ columns: y ? [upper, lower, y] : [size], firm: y ? [y] : [], loose: y ? [upper, lower] : [size], alarms: alarms || NO_ALARMS, worst: worst_at });
}

// Buttons that lead to the alarms, the last ones first.
const LISTED = 6;
function listAlarms(place, { track, x, levels }, level) {
  const [below, above] = levels[level].alarms || NO_ALARMS;
  const all = [...below.map((i) => [i, "▼"]), ...above.map((i) => [i, "▲"])].sort(([a], [b]) => b - a);
  const button = ([i, sign]) => {
    const b = made("button", { type: "button", class: sign === "▼" ? "alarm bad" : "alarm", "aria-label": `Show the alarm of ${moment(track, x[i])}: ${sign === "▼" ? "too few" : "too many"} inside` }, `${sign} ${moment(track, x[i])}`);
    b.onclick = () => around(i, i);
    return b;
  };
  place.replaceChildren(...(all.length ? ["Alarms: ", ...all.slice(0, LISTED).map(button), ...(all.length > LISTED ? [` and ${several(all.length - LISTED, "earlier one", "earlier ones")}`] : [])] : []));
  place.hidden = !all.length;
}

// Shares with what chance allows of them, drawn into the cells of a table on one scale: the band, the target, a dot.
const SVG = (tag, attributes) => { const e = document.createElementNS("http://www.w3.org/2000/svg", tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); return e; };
function bandsIn(cells, target) {
  const of = (cell) => [cell.dataset.v, cell.dataset.low, cell.dataset.high].map(Number);
  const ends = cells.flatMap(of).filter(Number.isFinite), low = Math.min(target, ...ends), high = Math.max(target, ...ends), room = 0.06 * (high - low || 1);
  const x = (v) => (100 * (v - low + room)) / (high - low + 2 * room);
  for (const cell of cells) {
    const [at, from, to] = of(cell), out = at < from || at > to;
    const svg = SVG("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: "bands", "aria-hidden": "true" });
    svg.append(SVG("rect", { x: x(from), width: Math.max(0.5, x(to) - x(from)), y: 1, height: 10, class: "usual" }), SVG("rect", { x: x(target) - 0.2, width: 0.4, y: 0, height: 12, class: "aim" }));
    const dot = made("i", { class: out ? "dot out" : "dot" });
    dot.style.left = `${x(at)}%`;
    cell.replaceChildren(made("div", { class: "track" }, svg, ...(Number.isFinite(at) ? [dot] : [])));
  }
}

const valueOf = (cell) => cell.dataset.v ?? cell.textContent;
function sorted(table, head, at) {
  const up = head.getAttribute("aria-sort") === "ascending", body = table.tBodies[0];
  const key = (row) => { const v = valueOf(row.cells[at]); return row.cells[at].classList.contains("n") ? (v === "" ? NaN : v === "inf" ? Infinity : +v) : v; };
  const keyed = Array.from(body.rows, (row) => [key(row), row]);
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a < b ? -1 : a > b ? 1 : 0);
  const none = (v) => Number.isNaN(v);
  keyed.sort(([a], [b]) => (none(a) || none(b) ? none(a) - none(b) : up ? order(b, a) : order(a, b)));
  for (const th of table.tHead.rows[0].cells) if (th.hasAttribute("aria-sort")) th.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", up ? "descending" : "ascending");
  body.append(...keyed.map(([, row]) => row));
}
const tableText = (table) => lines([table.tHead.rows[0], ...table.tBodies[0].rows].map((row) => Array.from(row.cells, valueOf)));

// The explanation of a word, under the pointer or the focus; Escape hides it. The texts are those of the glossary.
function explained() {
  const tip = made("div", { id: "tip", role: "tooltip", hidden: "" });
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  const show = (e) => {
    const word = e.target.closest && e.target.closest("[data-term]"), text = word && document.getElementById(`term-${word.dataset.term}`);
    if (!text) return hide();
    tip.textContent = text.textContent;
    tip.hidden = false;
    const at = word.getBoundingClientRect(), { width: w, height: h } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - w - 8))}px`;
    tip.style.top = `${at.bottom + h + 10 < innerHeight ? at.bottom + 6 : Math.max(4, at.top - h - 6)}px`;
  };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, show);
  document.addEventListener("focusout", hide);
  addEventListener("scroll", hide, { passive: true, capture: true });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
}
