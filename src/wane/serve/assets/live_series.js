// One series: its last rounds as the service keeps them, and those that come while the page is open.
const KEPT = 5000;  // rounds in the page
const one = { name: "", horizon: null, rounds: new Map(), waiting: new Map(), alarms: [], about: null, axis: "", target: 0.9 };
const number_ = (v, none) => (v === null || v === undefined ? none : v);

// The rounds as the charts take them; predictions that wait for their label come last, without an outcome.
function series() {
  const rounds = [...one.rounds.values()].sort((a, b) => a.sequence - b.sequence), last = rounds.at(-1);
  const waiting = [...one.waiting.values()].map((p, i) => ({ ...p, round: (last ? last.round : 0) + i + 1, y: null, covered: null, at: Math.max(p.at, last ? last.at : 0) }));
  const all = [...rounds, ...waiting], k = one.about.window, column = (f) => Float64Array.from(all, f);
  const distinct = new Set(rounds.map((r) => r.at)).size, byTime = one.axis ? one.axis === "time" : distinct > 0.9 * rounds.length;
  const sets = all.some((r) => number_(r.size, null) !== null);
  const hit = column((r) => (r.covered === null ? NaN : +r.covered)), lower = column((r) => number_(r.lower, -Infinity)), upper = column((r) => number_(r.upper, Infinity));
  const size = column((r) => number_(r.size, NaN)), broad = sets ? size : column((_, i) => Math.max(0, upper[i] - lower[i]));
  const coverage = means(hit, k), width = means(broad, k), [worst] = extent(coverage), end = coverage.indexOf(worst);
  const place = new Map(rounds.map((r, i) => [r.round, i]));
  const alarms = ["low", "high"].map((side) => one.alarms.filter((a) => a.side === side && place.has(a.round)).map((a) => place.get(a.round)));
  const level = { lower, upper, size, hit, coverage, width, sum: hit, alarms, worst: end < 0 ? null : worst, worst_at: end < 0 ? null : [end - k + 1, end], discount: 1 };
  const x = byTime ? column((r) => r.at) : column((r) => r.round);
  for (let i = 1; i < x.length; i++) x[i] = Math.max(x[i], x[i - 1]);
  const track = { name: one.name, method: "", dates: byTime, time: byTime, grain: "second" };
  return { track, x, y: sets ? null : column((r) => number_(r.y, NaN)), y_hat: null, levels: [level] };
}

// The mean of the last k numbers at each place; NaN before there are k, and where one of them is not known.
function means(values, k) {
  const made = new Float64Array(values.length).fill(NaN);
  for (let i = 0, sum = 0, known = 0; i < values.length; i++) {
    const gone = i >= k ? values[i - k] : NaN;
    if (!Number.isNaN(values[i])) { sum += values[i]; known++; }
    if (!Number.isNaN(gone)) { sum -= gone; known--; }
    if (known === k && Number.isFinite(sum)) made[i] = sum / k;
  }
  return made;
}

function drawSeries() {
  at("empty").hidden = one.rounds.size > 0;
  at("bar").hidden = !one.rounds.size;
  if (!one.rounds.size) return;
  const mine = series(), wanted = specs({ mine }, 0, one.about).filter((s) => ["series", "coverage", "width"].includes(s.id));
  const renewed = charts.length === wanted.length && charts.every((c, i) => c.spec.id === wanted[i].id && c.spec.track.dates === wanted[i].track.dates);
  track_ = mine.track;
  opened(mine.x, renewed);
  rounds();
  if (renewed) {
    charts.forEach((chart, i) => {
      Object.assign(chart.spec, wanted[i]);
      chart.holder.previousElementSibling.textContent = wanted[i].said;
      chart.holder.setAttribute("aria-label", spoken(chart.spec));
    });
    redraw();
  } else {
    for (const { u } of charts) u.destroy();
    at("charts").replaceChildren();
    charts = [];
    for (const spec of wanted) charts.push(shown(spec, width, "live"));
    tellRange();
  }
  strips(mine, 0);
  listAlarms(at("alarms"), mine, 0);
  document.documentElement.dataset.ready = "yes";
}

function describe({ overview: row, groups, parts, window: k }) {
  const state = { good: "good", low: "off", high: "off", few: "few" }[row.verdict];
  at("verdict").className = `verdict ${state}`;
  at("status").textContent = { good: "On target", low: "Off target: too few inside", high: "Off target: too many inside", few: "Too early to judge" }[row.verdict];
  at("headline").textContent = row.labels ? `${percent(row.coverage)} of ${several(row.labels, "label is", "labels are")} inside; the target is ${percent(row.target, 8)}, and chance allows ${percent(row.low)} to ${percent(row.high)}.` : "No label has come yet.";
  const cards = [["Inside", percent(row.coverage), `target ${percent(row.target, 8)}`], [`Last ${k}`, percent(row.local_coverage), "local coverage"], ["Mean width", amount(row.width), "of all intervals or sets"],
    ["Waiting", row.waiting.toLocaleString("en"), `predictions without a label; ${row.expired.toLocaleString("en")} expired`]];
  at("cards").replaceChildren(...cards.map(([a, b, c]) => made("div", { class: "card" }, made("dt", {}, a), made("dd", {}, b, made("small", {}, c)))));
  const table = (id, rows) => {
    at(id).hidden = !rows.length;
    const lines = rows.map(([name, v, low, high, n]) => { const cell = made("td"); bandCell(cell, v, low, high); return made("tr", {}, made("td", {}, name), cell, made("td", { class: "n" }, percent(v)), made("td", { class: "n" }, n.toLocaleString("en"))); });
    at(id).querySelector("tbody").replaceChildren(...lines);
    if (rows.length) bandsIn(lines.map((l) => l.cells[1]), row.target);
  };
  table("groups", groups.filter((g) => g.labels).map((g) => [String(g.group), g.coverage, Math.max(0, row.target - g.chance), Math.min(1, row.target + g.chance), g.labels]));
  table("parts", parts.length > 1 ? parts.map((p) => [p.horizon ? several(p.horizon, "step ahead", "steps ahead") : "no horizon", p.coverage, p.low, p.high, p.labels]) : []);
  chooseParts(parts);
}

function chooseParts(parts) {
  const values = parts.map((p) => p.horizon ?? null), old = at("choose-part");
  if (values.length < 2 || (old && old.options.length === values.length)) return;
  const select = made("select", { id: "choose-part" }, ...values.map((h, i) => made("option", { value: i }, h ? several(h, "step ahead", "steps ahead") : "no horizon")));
  select.value = Math.max(0, values.indexOf(one.horizon));
  select.onchange = () => { one.horizon = values[select.value]; one.rounds.clear(); one.waiting.clear(); charts.forEach(({ u }) => u.destroy()); charts = []; loadSeries(); };
  if (old) old.closest("label").remove();
  at("chosen").prepend(made("label", {}, "Part ", select));
}

const add = (row) => { one.rounds.set(row.sequence, row); one.waiting.delete(String(row.id)); };
async function loadSeries() {
  const asked_ = one.horizon, query = asked_ ? `?horizon=${asked_}` : "";
  const found = await ask(`/v1/live/series/${encodeURIComponent(one.name)}${query}`);
  if (asked_ !== one.horizon) return;
  one.horizon = found.part.horizon ?? null;
  one.target = found.overview.target;
  one.alarms = found.alarms.filter((a) => (a.horizon ?? null) === one.horizon);
  one.about = { window: found.window, levels: [1 - found.overview.target], usual: [found.band], grey: "There is no alarm while the line is in the grey band." };
  const columns = Object.entries(found.rounds), n = found.rounds.sequence.length;
  for (let i = 0; i < n; i++) add(Object.fromEntries(columns.map(([name, values]) => [name, values[i]])));
  for (const key of [...one.rounds.keys()].sort((a, b) => a - b).slice(0, Math.max(0, one.rounds.size - KEPT))) one.rounds.delete(key);
  const since = new Map([...one.waiting].map(([id, p]) => [id, p.at]));
  one.waiting = new Map(found.waiting.map((p) => [String(p.id), { ...p, at: since.get(String(p.id)) ?? Date.now() / 1000, sequence: Infinity }]));
  at("one").hidden = false;
  describe(found);
  drawSeries();
}

function beginSeries(name) {
  one.name = name;
  document.title = `${name}: wane live`;
  at("title").textContent = name;
  const axis = made("select", { id: "choose-axis" }, ...[["", "automatic"], ["time", "time"], ["round", "round"]].map(([value, text]) => made("option", { value }, text)));
  axis.onchange = () => { one.axis = axis.value; drawSeries(); };
  at("chosen").append(made("label", {}, "Axis ", axis));
  for (const button of document.querySelectorAll("[data-do]")) button.onclick = () => actions[button.dataset.do]();
  followStrip();
  new ResizeObserver(() => requestAnimationFrame(() => { fitted(); if (one.about && one.rounds.size) strips(series(), 0); })).observe(document.querySelector("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { charts.forEach(({ u }) => u.destroy()); charts = []; if (one.about) drawSeries(); });
  const renew = seldom(loadSeries, 2000), draw = seldom(async () => { if (one.about) drawSeries(); }, 250);
  const mine = (row) => (row.horizon ?? null) === one.horizon;
  listen(`/v1/live/events?series=${encodeURIComponent(name)}`, {
    label: (row) => { if (mine(row)) { add(row); draw(); } renew(); },
    prediction: (p) => {
      if (mine(p)) { one.waiting.set(String(p.id), { at: Date.now() / 1000, id: p.id, lower: [p.lower].flat()[0], upper: [p.upper].flat()[0], size: p.labels ? (Array.isArray(p.labels[0]) ? p.labels[0] : p.labels).length : null, sequence: Infinity }); draw(); }
      while (one.waiting.size > 100) one.waiting.delete(one.waiting.keys().next().value);
      renew();
    },
    alarm: () => renew(true), reset: () => renew(true),
  }, () => renew(true));
}
