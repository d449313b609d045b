// One view that all charts follow: the stretch of time that is shown, how it is moved, and the strip over all of it.
const view = { min: 0, max: 1, first: 0, last: 1, least: 1, from: 0, to: 0, x: null };  // from and to are rounds of x
let charts = [];  // { spec, u, holder }
const OPENS = 300;  // rounds that are shown first, if there are many more
const ROOM = 1.4;  // times as many: these are shown as a whole

// Begin with the last rounds of a series, or keep the stretch that is shown; follow its end if it was shown before.
function opened(x, keep = false) {
  const n = x.length, around = x[n - 1] > x[0] ? 0 : 1;  // of a single moment
  const atEnd = keep && view.x && view.max >= view.last, ahead = x[n - 1] + around - view.last;
  Object.assign(view, { x, first: x[0] - around, last: x[n - 1] + around });
  view.least = Math.min(view.last - view.first, (8 * (view.last - view.first)) / n);
  if (!keep) Object.assign(view, latest());
  else if (atEnd && ahead > 0) Object.assign(view, { min: Math.max(view.first, view.min + ahead), max: view.last });
  else Object.assign(view, { min: Math.min(Math.max(view.min, view.first), view.last), max: Math.min(view.max, view.last) });
  if (!(view.max > view.min)) Object.assign(view, latest());
}
const latest = () => ({ min: view.x.length > ROOM * OPENS ? view.x[view.x.length - OPENS] : view.first, max: view.last });

// The rounds of the view, with one more on each side so that lines leave the chart.
function rounds() {
  view.from = Math.max(0, place(view.x, view.min) - 1);
  view.to = Math.min(view.x.length - 1, place(view.x, view.max) + 1);
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
  if (!view.x) return;  // nothing is drawn yet
  const wide = Math.min(Math.max(max - min, view.least), view.last - view.first);
  const middle = (min + max) / 2;
  view.min = Math.min(Math.max(middle - wide / 2, view.first), view.last - wide);
  view.max = view.min + wide;
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    redraw();
  });
}
function redraw() {
  rounds();
  for (const chart of charts) {
    const { top, bottom } = chart.holder.getBoundingClientRect();
    chart.stale = true;
    if (bottom > 0 && top < innerHeight) fresh(chart);
  }
  clearTimeout(rest);
  rest = setTimeout(() => charts.filter((c) => c.stale).forEach(fresh), 150);
  tellRange();
}

const zoom = (factor, about = (view.min + view.max) / 2) =>
  look(about - (about - view.min) * factor, about + (view.max - about) * factor);
const pan = (share) => { const d = share * (view.max - view.min); look(view.min + d, view.max + d); };
// Some rounds with as many around them.
const around = (from, to) => { const room = Math.max(OPENS - (to - from), to - from) / 2, at = (i) => view.x[Math.min(view.x.length - 1, Math.max(0, Math.round(i)))]; look(at(from - room), at(to + room)); };
const actions = {
  left: () => pan(-0.25), right: () => pan(0.25), in: () => zoom(0.5), out: () => zoom(2), all: () => look(view.first, view.last),
  last: () => { if (view.x) { const { min, max } = latest(); look(min, max); } },
};
const KEYS = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", "0": "all", Home: "all", End: "last" };
const keyed = (e) => {
  const action = KEYS[e.key];
  if (action && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); actions[action](); }
};

let track_ = null;  // whose times are told
function tellRange() {
  const all = view.min <= view.first && view.max >= view.last, said = span(track_, view.min, view.max);
  const range = document.getElementById("range");
  range.textContent = all ? "" : said;
  brushed(all ? `everything, ${said}` : said);
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
  holder.addEventListener("keydown", keyed);
}

// The strip: all of the series, small; the part that the charts show can be dragged, and so can its ends.
const strip = () => document.getElementById("strip");
function brushed(text) {
  const brush = strip() && strip().querySelector(".brush"), share = (v) => (100 * (v - view.first)) / (view.last - view.first);
  if (!brush) return;
  brush.style.left = `${share(view.min)}%`;
  brush.style.width = `${share(view.max) - share(view.min)}%`;
  brush.setAttribute("aria-valuenow", Math.round(share((view.min + view.max) / 2)));
  brush.setAttribute("aria-valuetext", text);
}
function drawStrip({ columns, firm, loose, alarms, worst }) {
  const canvas = strip().querySelector("canvas"), p = devicePixelRatio || 1, { x } = view;
  const w = Math.max(100, strip().clientWidth), h = strip().clientHeight, ctx = canvas.getContext("2d");
  canvas.width = w * p;
  canvas.height = h * p;
  ctx.scale(p, p);
  const [low, high] = ranged(firm, loose)(null, { from: 0, to: x.length - 1 });
  const px = (v) => (w * (v - view.first)) / (view.last - view.first || 1), py = (v) => h - 6 - ((h - 10) * (v - low)) / (high - low || 1);
  if (worst) { ctx.fillStyle = css("--worst"); ctx.fillRect(px(x[worst[0]]), 0, Math.max(2, px(x[worst[1]]) - px(x[worst[0]])), h); }
  const [xs, ...all] = thinned(x, columns, [2 * low - high, 2 * high - low], 0, x.length - 1, w);
  const trace = (values, back) => { for (let j = 0; j < xs.length; j++) { const i = back ? xs.length - 1 - j : j; if (values[i] != null) ctx.lineTo(px(xs[i]), py(values[i])); } };
  if (all.length > 1) { ctx.fillStyle = faded(css("--c0"), 0.3); ctx.beginPath(); trace(all[0]); trace(all[1], true); ctx.fill(); }
  ctx.strokeStyle = css("--soft");
  ctx.lineWidth = 0.8;
  ctx.beginPath();
  trace(all[all.length - 1]);
  ctx.stroke();
  alarms.forEach((side, up) => { ctx.fillStyle = css(up ? "--soft" : "--miss"); for (const i of side) triangle(ctx, px(x[i]), h - 5, 4, !up); });
}
function followStrip() {
  const holder = strip(), brush = holder.querySelector(".brush");
  const at = (e) => { const { left, width } = holder.getBoundingClientRect(); return view.first + ((view.last - view.first) * (e.clientX - left)) / width; };
  let held = null;
  holder.addEventListener("pointerdown", (e) => {
    if (!view.x || e.button) return;
    e.preventDefault();
    brush.focus({ preventScroll: true });
    holder.setPointerCapture(e.pointerId);
    const { left, right } = brush.getBoundingClientRect(), v = at(e);
    const grip = e.pointerType === "touch" ? 16 : 7;
    if (e.clientX < left - grip || e.clientX > right + grip) { const half = (view.max - view.min) / 2; look(v - half, v + half); held = { part: "whole", off: half }; }
    else if (right - left > 3 * grip && Math.abs(e.clientX - left) <= grip) held = { part: "left" };
    else if (right - left > 3 * grip && Math.abs(e.clientX - right) <= grip) held = { part: "right" };
    else held = { part: "whole", off: v - view.min };
  });
  holder.addEventListener("pointermove", (e) => {
    if (!held) return;
    const v = at(e), wide = view.max - view.min;
    if (held.part === "left") look(Math.min(v, view.max - view.least), view.max);
    else if (held.part === "right") look(view.min, Math.max(v, view.min + view.least));
    else look(v - held.off, v - held.off + wide);
  });
  for (const end of ["pointerup", "pointercancel"]) holder.addEventListener(end, () => { held = null; });
  brush.addEventListener("keydown", keyed);
  holder.addEventListener("dblclick", actions.all);
}
