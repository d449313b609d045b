// What each chart of one series shows. A series is { track, x, y, y_hat, levels: [{ lower, upper, hit, coverage, width, sum, ... }] },
// with size instead of lower and upper for label sets; about says { window, levels, usual } of the page, and what is grey.
const FLAT = 1e-6;  // widths that differ by less are the same to a reader
const UNEVEN = 0.01;  // of its width, or a typical one: an interval whose sides differ by more is not symmetric; and the share of such rounds
const WHOLE = Array.from({ length: 36 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));  // steps between rounds
const dashed = (i) => DASHES[(i + Math.floor(i / 6)) % 6];  // there are six colours: beyond them the pairs differ
const endless = (column) => column.some((v) => Math.abs(v) === Infinity);
const extremes = (column) => extent(column).filter(Number.isFinite);
const NO_ALARMS = [[], []];

function specs({ mine, others = [], without = [] }, level, about) {
  const { track, x, y } = mine, here = mine.levels[level], alarms = here.alarms || NO_ALARMS;
  const worst = here.worst_at ? [window_(x[here.worst_at[0]], x[here.worst_at[1]])] : [];
  const thin = x.length > 2000;  // thousands of wide or dashed strokes are slow
  const methods = [mine, ...others], name = (m) => m.track.method || "value";
  const line = (label, colour, more = {}) => ({ label, stroke: colour, width: thin ? 1 : 1.5, ...more });
  const context = {
    ...mine, here, level, about, k: about.window, thin, line, worst, alarms,
    wanted: asked(about.levels[level]), target: 1 - about.levels[level],
    when: here.worst_at ? span(track, x[here.worst_at[0]], x[here.worst_at[1]]) : "",
    each: (key) => methods.map((m) => m.levels[level][key]),
    styled: (more) => methods.map((m, i) => line(name(m), css(`--c${i % 6}`), { dash: dashed(i), ...more })),
    absent: without.length ? ` Without ${without.join(", ")}: these have other rounds.` : "",
  };
  const made = y ? [bandSpec, coverageSpec, widthSpec, radiusSpec, sumSpec] : [sizeSpec, coverageSpec, widthSpec, sumSpec];
  return made.map((make) => make(context)).map((spec) => ({ bands: [], before: [], after: [], ...spec, x, track, show: spec.show || amount, far: beyond(spec.columns.flatMap(extremes)) }));
}

// How many there are of something, and which of two words.
const several = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
function alarmsSaid({ alarms, track, x }) {
  const all = [...alarms[0], ...alarms[1]].sort((a, b) => a - b);
  if (!all.length) return " There was no alarm.";
  return ` Triangles on the time axis mark ${several(all.length, "alarm", "alarms")}, the last ${track.time ? `on ${moment(track, x[all.at(-1)])}` : `in round ${moment(track, x[all.at(-1)])}`}.`;
}

function bandSpec(c) {
  const { x, y, y_hat, levels, level, here, line, thin, about } = c;
  const bands = [], columns = [], series = [], loose = [];
  levels.forEach((l, i) => {
    const shown = i === level, at = columns.length + 1;
    const cover = levels.length > 1 ? ` ${asked(about.levels[i])}` : "";
    const edge = { width: shown ? (thin ? 0.5 : 1) : 0, class: shown || levels.length < 4 ? null : "minor" };
    columns.push(l.upper, l.lower);
    series.push(line(`upper${cover}`, css("--c0"), edge), line(`lower${cover}`, css("--c0"), edge));
    bands.push({ series: [at, at + 1], fill: faded(css("--c0"), shown ? 0.22 : 0.1) });
    loose.push(l.upper, l.lower);
  });
  if (y_hat) { columns.push(y_hat); series.push(line("forecast", css("--c2"), { dash: thin ? [] : [4, 3], width: thin ? 0.8 : 1.1 })); }
  columns.push(y);
  series.push(line("outcome", css("--ink"), { width: thin ? 0.8 : 1.2 }));
  const misses = here.hit.reduce((n, h) => n + (h === 0), 0);
  return {
    id: "series", title: "Outcomes and intervals", height: 320, columns, series, bands, before: c.worst,
    dots: { label: levels.length > 1 ? `inside ${c.wanted}` : "inside", column: here.hit },
    after: [missed(x, y, here.hit, (i) => (here.lower[i] + here.upper[i]) / 2), alarmed(x, c.alarms)], range: ranged(y_hat ? [y, y_hat] : [y], loose),
    said: `Dots mark the outcomes outside the ${c.wanted} interval, ${misses.toLocaleString("en")} in all.` + (c.when ? " The worst window is shaded." : "") + alarmsSaid(c),
  };
}

function sizeSpec(c) {
  const { x, levels, level, here, line, about } = c, sizes = levels.map((l) => l.size);
  const misses = here.hit.reduce((n, h) => n + (h === 0), 0);
  return {
    id: "series", title: "Labels in the set, round by round", height: 240, columns: sizes,
    series: levels.map((l, i) => line(levels.length > 1 ? `size ${asked(about.levels[i])}` : "size", css(`--c${i === level ? 0 : i || level}`), { width: i === level ? 1.2 : 0.7 })),
    before: c.worst, dots: { label: levels.length > 1 ? `inside ${c.wanted}` : "inside", column: here.hit },
    after: [missed(x, here.size, here.hit, () => -1), alarmed(x, c.alarms)], range: ranged([], sizes, [0]),
    said: `Dots mark the rounds whose set misses the true label, ${misses.toLocaleString("en")} in all.` + (c.when ? " The worst window is shaded." : "") + alarmsSaid(c),
  };
}

function coverageSpec(c) {
  const { here, about, level, target } = c, curves = c.each("coverage");
  return {
    id: "coverage", title: `Local coverage, of the last ${c.k} outcomes`, height: 210, columns: curves, show: percent,
    series: c.styled(), before: [between(...about.usual[level]), ...c.worst], after: [level_(target, `target ${c.wanted}`, true), alarmed(c.x, c.alarms)],
    range: (u) => { const [a, b] = ranged(curves, [], [...about.usual[level], target])(u); return [a, Math.min(b, 1.02)]; },
    said: (c.when ? `The worst window is shaded: ${percent(here.worst)}, ${c.when}. `
      : here.worst == null ? "There is no full window yet. " : `The worst window, ${percent(here.worst)}, was before these rounds. `)
      + (about.grey || "In the grey band 95\u00a0% of windows would lie if misses were independent and as frequent as they should be.") + c.absent,
  };
}

function widthSpec(c) {
  const curves = c.each("width");
  return {
    id: "width", title: c.y ? `Local width, mean of the last ${c.k} intervals` : `Local size, mean of the last ${c.k} sets`, height: 190, columns: curves,
    series: c.styled(), before: c.worst, range: ranged([], curves, [], FLAT),
    said: (c.y ? "Narrower intervals say more, as long as the coverage is right." : "Smaller sets say more, as long as the coverage is right.")
      + (curves.some(endless) ? " A line leaves the chart where an interval of its window is infinite." : "") + c.absent,
  };
}

function radiusSpec(c) {
  const { x, y, y_hat, here, line } = c;
  const half = Float64Array.from(here.upper, (u, i) => Math.max(0, (u - here.lower[i]) / 2));
  const above = y_hat && Float64Array.from(here.upper, (u, i) => u - y_hat[i]);
  const below = y_hat && Float64Array.from(here.lower, (l, i) => y_hat[i] - l);
  const errors = y_hat && Float64Array.from(y, (v, i) => Math.abs(v - y_hat[i]));
  const some = half.filter((h) => h > 0 && h < Infinity).sort(), typical = 2 * some[some.length >> 1] || 0;  // beside it what is rounded is nothing
  const uneven = y_hat ? above.reduce((n, a, i) => n + (Math.abs(a - below[i]) > UNEVEN * Math.max(Math.abs(a + below[i]), typical)), 0) : 0;
  const lopsided = uneven > UNEVEN * x.length;
  const radii = lopsided ? [above, below] : [half];
  const labels = lopsided ? ["above the forecast", "below the forecast"] : ["radius"];
  return {
    id: "radius", title: "Radius, round by round", height: 190, columns: [...(errors ? [errors] : []), ...radii],
    series: [...(errors ? [line("error of the forecast", css("--faint"), { width: 0.8 })] : []), ...labels.map((l, i) => line(l, css(`--c${i}`), { dash: dashed(i) }))],
    before: c.worst, range: ranged([], [...(errors ? [errors] : []), ...radii], [], FLAT),
    said: errors ? "The distance of the ends from the forecast, and how far the forecast was off." : "Half the width of each interval.",
  };
}

function sumSpec(c) {
  const { here, about, level } = c, { bound, gradients } = here, aged = here.discount !== 1, curves = c.each("sum");
  return {
    id: "sum", title: `${aged ? "Discounted s" : "S"}um of misses beyond the target`, height: 190, columns: curves, series: c.styled(),
    after: [level_(0, ""), ...(bound ? [level_(bound, "bound", true), level_(-bound, "−bound")] : [])],
    range: ranged(curves, [], bound ? [bound, -bound, 0] : [0]),
    said: `Each miss adds ${c.wanted}, each hit takes ${percent(about.levels[level], 8)}${aged ? `, and what was before counts ${here.discount} times a round` : ""}. A level line is on target.`
      + (bound ? ` The proved bound is ${amount(bound)}.` : "")
      + (gradients ? ` Nothing is proved about these misses, because the loss of this method counts none: the sum of its gradients is ${amount(gradients[0])}, at most ${amount(gradients[1])} by the theorem.` : "") + c.absent,
  };
}

// What a chart shows, for those who do not see it.
function spoken(spec) {
  const parts = spec.series.map((s, i) => {
    const [low, high] = extent(spec.columns[i]);
    return high >= low ? `${s.label} from ${spec.show(low)} to ${spec.show(high)}` : `${s.label}: ${endless(spec.columns[i]) ? "infinite" : "nothing"}`;
  });
  const { track, x } = spec;
  return `${spec.title}. ${track.name}, ${span(track, x[0], x[x.length - 1])}. ${parts.join("; ")}. ${spec.said}`;
}

// The options of uPlot; what may change while a chart lives is read from its spec each time.
function options(spec, width) {
  const axis = { stroke: () => css("--soft"), font: FONT, grid: { stroke: () => css("--grid"), width: 1 }, ticks: { show: false } };
  const undone = (v) => (v == null ? v : v >= spec.far[1] ? Infinity : v <= spec.far[0] ? -Infinity : v);
  const texts = spec.show === percent ? (ticks) => ticks.map((t) => (t > 1 ? "" : percent(t))) : ticked;
  const times = spec.track.dates ? { size: 42, values: AXIS_DATES, space: 70 } : { size: 28, values: (_, ticks) => ticked(ticks), ...(spec.track.time ? {} : { incrs: WHOLE }) };
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
      drawClear: [(u) => spec.before.forEach((draw) => draw(u))],
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
