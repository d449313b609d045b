"use strict";
// Numbers and dates as text, columns thinned for the screen, files.
// The least and the greatest finite number of a Float64Array: of arrays of one kind only, or it is ten times slower.
const extent = (values, from = 0, to = values.length - 1) => {
  let low = Infinity, high = -Infinity;
  for (let i = from; i <= to; i++) {
    const v = values[i];
    if (v < low && v > -Infinity) low = v;
    if (v > high && v < Infinity) high = v;
  }
  return [low, high];
};

// The first place in a sorted array at which it is not below a value.
function place(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) { const m = (low + high) >> 1; if (sorted[m] < value) low = m + 1; else high = m; }
  return low;
}

// What uPlot draws of rounds from..to: at most two points a pixel and column, the least and the greatest there, in the order
// in which they came. No number is null; what is infinite goes far beyond the edges of the chart.
function thinned(x, columns, [low, high], from, to, pixels) {
  const n = to - from + 1, each = n > 4 * pixels ? n / pixels : 0;
  const shown = (v) => (Number.isNaN(v) ? null : v === Infinity ? high : v === -Infinity ? low : v);
  if (!each) return [Array.from(x.subarray(from, to + 1)), ...columns.map((c) => Array.from(c.subarray(from, to + 1), shown))];
  const made = [[], ...columns.map(() => [])];
  for (let p = 0; p < pixels; p++) {
    const a = from + Math.floor(p * each), b = from + Math.floor((p + 1) * each) - 1;
    made[0].push(x[a], x[b]);
    for (let k = 0; k < columns.length; k++) {
      const c = columns[k];
      let least = -1, most = -1;
      for (let i = a; i <= b; i++) {
        if (c[i] !== c[i]) continue;
        if (least < 0 || c[i] < c[least]) least = i;
        if (most < 0 || c[i] > c[most]) most = i;
      }
      if (least < 0) made[k + 1].push(null, null);
      else made[k + 1].push(shown(c[Math.min(least, most)]), shown(c[Math.max(least, most)]));
    }
  }
  return made;
}

// Where what is infinite goes: beyond everything that a chart may show.
const beyond = (values) => {
  const [low, high] = extent(Float64Array.from(values)), far = 50 * (high - low || Math.abs(high) || 1);
  return high >= low ? [low - far, high + far] : [-100, 100];
};

// A share; of one near 0 or 1 as many digits as tell it from these.
const percent = (v, digits = 1) => {
  if (v == null || Number.isNaN(v)) return "–";
  const rounded = (d) => +(100 * v).toFixed(d);
  let d = digits;
  while (d < 6 && v > 0 && v < 1 && (rounded(d) === 0 || rounded(d) === 100)) d++;
  return `${rounded(d)}\u00a0%`;
};
const asked = (alpha) => percent(1 - alpha, 8);  // a target, to the last digit
const amount = (v) => {
  if (v == null || Number.isNaN(v)) return "–";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  if (Math.abs(v) >= 1e12) return v.toExponential(3).replace(/\.?0*e/, "e");
  return Math.abs(v) >= 1e4 ? Math.round(v).toLocaleString("en") : String(+v.toPrecision(4));
};

// The numbers beside an axis, with the digits that tell them apart.
function ticked(ticks) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.abs(ticks[0]) || 1;
  const most = Math.max(...ticks.map(Math.abs)) || 1, place = Math.floor(Math.log10(step));
  const after = Math.floor(Math.log10(most)) - place + (Number((step / 10 ** place).toPrecision(6)) % 1 ? 1 : 0);
  if ((most < 1e-4 || most >= 1e12) && after <= 4) return ticks.map((t) => (t ? t.toExponential(after).replace("e+", "e") : "0"));
  return ticks.map((t) => (t || 0).toLocaleString("en", { maximumFractionDigits: Math.min(20, Math.max(0, 1 - place)) }));
}

// Dates as people write them, in UTC; files keep the ISO form. The grain is what tells two rounds apart.
const dated = (seconds) => {
  const text = new Date(seconds * 1000).toISOString().replace(/\.000Z$/, "Z");
  return text.endsWith("T00:00:00Z") ? text.slice(0, 10) : text.replace("T", " ").replace("Z", "");
};
const GRAINS = {
  year: { year: "numeric" }, month: { month: "short", year: "numeric" }, day: { day: "numeric", month: "short", year: "numeric" },
  minute: { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  second: { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
};
const writers = Object.fromEntries(Object.entries(GRAINS).map(([name, form]) => [name, new Intl.DateTimeFormat("en-GB", { ...form, timeZone: "UTC" })]));
function grainOf(x) {
  const steps = [], every = Math.max(1, Math.floor(x.length / 500));
  for (let i = 1; i < x.length; i += every) if (x[i] > x[i - 1]) steps.push(x[i] - x[i - 1]);
  steps.sort((a, b) => a - b);
  const step = steps.length ? steps[steps.length >> 1] : Infinity, whole = (unit) => x.every((v) => v % unit === 0);
  const start = (v) => { const d = new Date(v * 1000); return d.getUTCDate() === 1 || new Date((v + 86400) * 1000).getUTCDate() === 1; };
  if (!whole(86400)) return whole(60) ? "minute" : "second";
  if (step < 27 * 86400 || !x.every(start)) return "day";
  return step < 360 * 86400 ? "month" : "year";
}
const tidy = (text) => text.replaceAll("\u2009", " ").replace(/\bSept\b/g, "Sep");
const moment = ({ dates, time, grain }, x) =>
  (dates ? tidy(writers[grain || "second"].format(new Date(x * 1000))) : time ? String(+x.toPrecision(12)) : Math.round(x).toLocaleString("en"));
const span = (track, a, b) =>
  (track.dates ? tidy(writers[track.grain || "second"].formatRange(new Date(a * 1000), new Date(b * 1000))) : `${moment(track, a)} to ${moment(track, b)}`);
// The dates under an axis, as uPlot takes them: the smallest step, its form, and what is added when a larger unit changes.
const AXIS_DATES = [
  [31536000, "{YYYY}", null, null, null, null, null, null, 1],
  [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [0.001, ":{ss}.{fff}", "\n{D} {MMM} {YYYY} {HH}:{mm}", null, "\n{D} {MMM} {HH}:{mm}", null, "\n{HH}:{mm}", null, 1],
];

// A column of another track at the times of this one; NaN where it has none.
function aligned(theirs, x, column) {
  let j = 0;
  return Float64Array.from(x, (v) => {
    while (theirs[j] < v) j++;
    return theirs[j] === v ? column[j++] : NaN;
  });
}

// A number of a column as text for a file: the digits that were stored.
function digits(values) {
  const { middle, exact } = values;
  return (v) => {
    if (Number.isNaN(v)) return "";
    if (!Number.isFinite(v)) return v > 0 ? "inf" : "-inf";
    const about = middle === undefined ? v : v - middle;
    if (exact || about === 0) return String(v);
    const places = 7 - Math.ceil(Math.log10(Math.abs(about)));
    return String(places > 20 ? +v.toPrecision(8) : +v.toFixed(Math.max(0, places)));
  };
}

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const lines = (rows) => rows.map((row) => row.map((cell) => quoted(String(cell))).join(",")).join("\r\n") + "\r\n";

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = `${name.replace(/[^\p{L}\p{N}_.-]+/gu, "_")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
