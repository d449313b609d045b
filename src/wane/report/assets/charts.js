// The charts of one series: what each shows, and one view that all of them follow.
const view = { min: 0, max: 1, first: 0, last: 1, least: 1, from: 0, to: 0 };  // from and to are rounds
let charts = [];  // { spec, u, holder }
const FLAT = 1e-6;  // widths that differ by less are the same to a reader
const UNEVEN = 0.01;  // of its width, or a typical one: an interval whose sides differ by more is not symmetric; and the share of such rounds
const WHOLE = Array.from({ length: 36 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));  // steps between rounds
const dashed = (i) => DASHES[(i + Math.floor(i / 6)) % 6];  // there are six colours: beyond them the pairs differ
const endless = (column) => column.some((v) => Math.abs(v) === Infinity);
const extremes = (column) => extent(column).filter(Number.isFinite);

function specs({ mine, others, without }, level) {
  const { track, x, y, y_hat } = mine, here = mine.levels[level], k = report.window;
  const target = 1 - report.levels[level], wanted = asked(report.levels[level]), methods = [mine, ...others], ink = css("--ink"), soft = css("--faint");
  const thin = x.length > 2000;  // thousands of wide or dashed strokes are slow
  const name = (m) => m.track.method || "value";
  const line = (label, colour, more = {}) => ({ label, stroke: colour, width: thin ? 1 : 1.5, ...more });
  const each = (key) => methods.map((m) => m.levels[level][key]);
  const styled = (more) => methods.map((m, i) => line(name(m), css(`--c${i % 6}`), { dash: dashed(i), ...more }));
  const worst = here.worst_at ? [window_(x[here.worst_at[0]], x[here.worst_at[1]])] : [];
  const when = here.worst_at ? `${moment(track, x[here.worst_at[0]])} to ${moment(track, x[here.worst_at[1]])}` : "";
  const absent = without.length ? ` Without ${without.join(", ")}: these have other rounds.` : "";
  const found = [];

  const bands = [], columns = [], series = [], loose = [];
  mine.levels.forEach((l, i) => {
    const shown = i === level, at = columns.length + 1;
    const cover = mine.levels.length > 1 ? ` ${asked(report.levels[i])}` : "";
    const edge = { width: shown ? (thin ? 0.5 : 1) : 0, class: shown || mine.levels.length < 4 ? null : "minor" };
    columns.push(l.upper, l.lower);
    series.push(line(`upper${cover}`, css("--c0"), edge), line(`lower${cover}`, css("--c0"), edge));
    bands.push({ series: [at, at + 1], fill: faded(css("--c0"), shown ? 0.22 : 0.1) });
    loose.push(l.upper, l.lower);
  });
  if (y_hat) { columns.push(y_hat); series.push(line("forecast", css("--c2"), { dash: thin ? [] : [4, 3], width: thin ? 0.8 : 1.1 })); }
  columns.push(y);
  series.push(line("outcome", ink, { width: thin ? 0.8 : 1.2 }));
  const misses = here.hit.reduce((n, h) => n + (h === 0), 0);
  found.push({
    id: "series", title: "Outcomes and intervals", height: 320, columns, series, bands, before: worst,
    dots: { label: mine.levels.length > 1 ? `inside ${wanted}` : "inside", column: here.hit }, after: [missed(x, y, here.hit)], range: ranged(y_hat ? [y, y_hat] : [y], loose),
    said: `Dots are the ${misses.toLocaleString("en")} outcomes outside the ${wanted} interval.`
      + (when ? " The worst window is shaded." : ""),
  });
  found.push({
    id: "coverage", title: `Local coverage, of the last ${k} outcomes`, height: 210, columns: each("coverage"), show: percent,
    series: styled(), before: [between(...report.usual[level]), ...worst], after: [level_(target, `target ${wanted}`, true)],
    range: (u) => { const [a, b] = ranged(each("coverage"), [], [...report.usual[level], target])(u); return [a, Math.min(b, 1.02)]; },
    said: (when ? `Shaded: the worst window, ${percent(here.worst)}, ${when}. `
      : here.worst == null ? "There is no full window yet. " : `The worst window, ${percent(here.worst)}, was before these rounds. `)
      + "Grey: where 95\u00a0% of windows would lie if misses were independent and their chance right." + absent,
  });
  found.push({
    id: "width", title: `Local width, mean of the last ${k} intervals`, height: 190, columns: each("width"),
    series: styled(), before: worst, after: [], range: ranged([], each("width"), [], FLAT),
    said: "How much the intervals promise: narrower is better if the coverage is right."
      + (each("width").some(endless) ? " A line leaves the chart where an interval of its window is infinite." : "") + absent,
  });
  const half = Float64Array.from(here.upper, (u, i) => Math.max(0, (u - here.lower[i]) / 2));
  const above = y_hat && Float64Array.from(here.upper, (u, i) => u - y_hat[i]);
  const below = y_hat && Float64Array.from(here.lower, (l, i) => y_hat[i] - l);
  const errors = y_hat && Float64Array.from(y, (v, i) => Math.abs(v - y_hat[i]));
  const some = half.filter((h) => h > 0 && h < Infinity).sort(), typical = 2 * some[some.length >> 1] || 0;  // beside it what is rounded is nothing
  const uneven = y_hat ? above.reduce((n, a, i) => n + (Math.abs(a - below[i]) > UNEVEN * Math.max(Math.abs(a + below[i]), typical)), 0) : 0;
  const lopsided = uneven > UNEVEN * x.length;
  const radii = lopsided ? [above, below] : [half];
  const labels = lopsided ? ["above the forecast", "below the forecast"] : ["radius"];
  found.push({
    id: "radius", title: "Radius, round by round", height: 190, columns: [...(errors ? [errors] : []), ...radii],
    series: [...(errors ? [line("error of the forecast", soft, { width: 0.8 })] : []), ...labels.map((l, i) => line(l, css(`--c${i}`), { dash: dashed(i) }))],
    before: worst, after: [], range: ranged([], [...(errors ? [errors] : []), ...radii], [], FLAT),
    said: errors ? "The distance of the ends from the forecast, and how far the forecast was off." : "Half the width of each interval.",
  });
  const bound = here.bound, told = here.gradients, aged = here.discount !== 1;
  found.push({
    id: "sum", title: `${aged ? "Discounted s" : "S"}um of misses beyond the target`, height: 190, columns: each("sum"), series: styled(),
    before: [], after: [level_(0, ""), ...(bound ? [level_(bound, "bound", true), level_(-bound, "−bound")] : [])],
    range: ranged(each("sum"), [], bound ? [bound, -bound, 0] : [0]),
    said: `Each miss adds ${wanted}, each hit takes ${percent(report.levels[level], 8)}${aged ? `, and what was before counts ${here.discount} times a round` : ""}; level means on target.`
      + (bound ? ` The proved bound is ${amount(bound)}.` : "")
      + (told ? ` Nothing is proved about these misses, because the loss of this method counts none: the sum of its gradients is ${amount(told[0])}, at most ${amount(told[1])} by the theorem.` : "") + absent,
  });
  return found.map((spec) => ({ ...spec, x, track, show: spec.show || amount, far: beyond(spec.columns.flatMap(extremes)) }));
}

// What a chart shows, for those who do not see it.
function spoken(spec) {
  const parts = spec.series.map((s, i) => {
    const [low, high] = extent(spec.columns[i]);
    return high >= low ? `${s.label} from ${spec.show(low)} to ${spec.show(high)}` : `${s.label}: ${endless(spec.columns[i]) ? "infinite" : "nothing"}`;
  });
  const { track, x } = spec;
  return `${spec.title}. ${track.name}, ${moment(track, x[0])} to ${moment(track, x[x.length - 1])}. ${parts.join("; ")}. ${spec.said}`;
}

function options(spec, width) {
  const axis = { stroke: css("--soft"), font: FONT, grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
  const undone = (v) => (v == null ? v : v >= spec.far[1] ? Infinity : v <= spec.far[0] ? -Infinity : v);
  const texts = spec.show === percent ? (ticks) => ticks.map((t) => (t > 1 ? "" : percent(t))) : ticked;
  const times = spec.track.dates ? { size: 42 } : { size: 28, values: (_, ticks) => ticked(ticks), ...(spec.track.time ? {} : { incrs: WHOLE }) };
  return {
    width, height: width < 560 ? Math.round(spec.height * 0.82) : spec.height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: {
      sync: { key: "view" }, drag: { x: true, y: false, setScale: false }, points: { size: 6 }, y: false,
      bind: {
        dblclick: () => () => { look(view.first, view.last); return null; },
        mousedown: (u, target, handle) => (e) => { if (!e.shiftKey) handle(e); return null; },
      },
    },
    scales: { x: { time: !!spec.track.dates, range: () => [view.min, view.max] }, y: { range: (u) => spec.range(u) } },
    axes: [{ ...axis, ...times }, { ...axis, values: (_, ticks) => texts(ticks), size: (u, ticks) => 14 + 6.5 * Math.max(3, ...(ticks || []).map((t) => String(t).length)) }],
    series: [
      { label: spec.track.time ? "time" : "round", value: (u, v) => (v == null ? "–" : moment(spec.track, v)) },
      ...spec.series.map((s) => ({ points: { show: false }, spanGaps: spec.id !== "series", value: (u, v) => spec.show(undone(v)), ...s })),
    ],
    bands: spec.bands,
    hooks: {
      drawClear: spec.before.length ? [(u) => spec.before.forEach((draw) => draw(u))] : [],
      draw: [alone, (u) => spec.after.forEach((draw) => draw(u))],
      setSelect: [(u) => {
        const { left, width } = u.select;
        if (width < 4) return;
        look(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}

// The rounds of the view, with one more on each side so that lines leave the chart.
function rounds() {
  const { x } = current.mine;
  view.from = Math.max(0, place(x, view.min) - 1);
  view.to = Math.min(x.length - 1, place(x, view.max) + 1);
}
const seen = (spec, width) => thinned(spec.x, spec.columns, spec.far, view.from, view.to, Math.max(200, width));

// Every chart shows the same stretch; drawn once a frame, those out of sight when there is time.
let waiting = false, rest = 0;
function fresh(chart) {
  const { spec, u } = chart;
  chart.stale = false;
  u.batch(() => { u.setData(seen(spec, u.width), false); u.setScale("x", { min: view.min, max: view.max }); });
}
function look(min, max) {
  if (!current) return;  // nothing is drawn yet
  const span = Math.min(Math.max(max - min, view.least), view.last - view.first);
  const middle = (min + max) / 2;
  view.min = Math.min(Math.max(middle - span / 2, view.first), view.last - span);
  view.max = view.min + span;
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    rounds();
    for (const chart of charts) {
      const { top, bottom } = chart.holder.getBoundingClientRect();
      chart.stale = true;
      if (bottom > 0 && top < innerHeight) fresh(chart);
    }
    clearTimeout(rest);
    rest = setTimeout(() => charts.filter((c) => c.stale).forEach(fresh), 150);
    tellRange();
  });
}

const zoom = (factor, about = (view.min + view.max) / 2) =>
  look(about - (about - view.min) * factor, about + (view.max - about) * factor);
const pan = (share) => { const d = share * (view.max - view.min); look(view.min + d, view.max + d); };
const actions = { left: () => pan(-0.25), right: () => pan(0.25), in: () => zoom(0.5), out: () => zoom(2), all: () => look(view.first, view.last) };
const KEYS = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", "0": "all", Home: "all" };

function tellRange() {
  const track = charts[0].spec.track;
  const said = view.min <= view.first && view.max >= view.last ? "" : `${moment(track, view.min)} to ${moment(track, view.max)}`;
  document.getElementById("range").textContent = said;
}

// Wheel with control (a pinch on a trackpad), shift and drag, one and two fingers, keys.
function follow(u, holder) {
  const over = u.over, fingers = new Map();
  const at = (e) => u.posToVal(e.clientX - over.getBoundingClientRect().left, "x");
  over.addEventListener("wheel", (e) => {
    if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 200))), at(e)); }
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); pan((e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX) / over.clientWidth); }
  }, { passive: false });
  over.addEventListener("pointerdown", (e) => {
    if (e.pointerType === "mouse" && !e.shiftKey) return;
    fingers.set(e.pointerId, e.clientX);
    over.setPointerCapture(e.pointerId);
  });
  over.addEventListener("pointermove", (e) => {
    if (!fingers.has(e.pointerId)) return;
    const before = [...fingers.values()];
    fingers.set(e.pointerId, e.clientX);
    const now = [...fingers.values()], scale = (view.max - view.min) / over.clientWidth;
    if (now.length === 1) look(view.min - (now[0] - before[0]) * scale, view.max - (now[0] - before[0]) * scale);
    else if (now.length === 2) {
      const apart = (pair) => Math.max(20, Math.abs(pair[0] - pair[1]));
      const middle = u.posToVal((now[0] + now[1]) / 2 - over.getBoundingClientRect().left, "x");
      zoom(apart(before) / apart(now), middle);
    }
  });
  for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, (e) => fingers.delete(e.pointerId));
  holder.addEventListener("keydown", (e) => {
    const action = KEYS[e.key];
    if (action && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); actions[action](); }
  });
}
