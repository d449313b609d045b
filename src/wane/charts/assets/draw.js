// What is drawn on a chart beside its lines.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faded = (hex, share) => hex + Math.round(255 * share).toString(16).padStart(2, "0");
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2], [1, 2]];
const ratio = () => uPlot.pxRatio;

function clipped(u, draw) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx, bbox);
  ctx.restore();
}

// The rounds of the worst window, shaded.
const window_ = (from, to) => (u) => clipped(u, (ctx, box) => {
  const a = u.valToPos(from, "x", true), b = u.valToPos(to, "x", true), least = 3 * ratio();
  ctx.fillStyle = css("--worst");
  ctx.fillRect(a - Math.max(0, least - (b - a)) / 2, box.top, Math.max(b - a, least), box.height);
});

// Where most windows would lie.
const between = (low, high) => (u) => clipped(u, (ctx, box) => {
  const a = u.valToPos(high, "y", true), b = u.valToPos(low, "y", true);
  ctx.fillStyle = css("--usual");
  ctx.fillRect(box.left, a, box.width, b - a);
});

// A level with its name at the right.
const level_ = (value, name, below = false) => (u) => clipped(u, (ctx, box) => {
  const y = u.valToPos(value, "y", true), p = ratio();
  ctx.strokeStyle = ctx.fillStyle = css("--target");
  ctx.lineWidth = p;
  ctx.setLineDash([5 * p, 4 * p]);
  ctx.beginPath();
  ctx.moveTo(box.left, y);
  ctx.lineTo(box.left + box.width, y);
  ctx.stroke();
  ctx.font = FONT.replace("11px", `${11 * p}px`);
  ctx.textAlign = "right";
  ctx.setLineDash([]);
  ctx.lineWidth = 4 * p;
  ctx.strokeStyle = css("--paper");
  ctx.lineJoin = "round";
  const place = [name, box.left + box.width - 4 * p, y + (below ? 14 : -5) * p];
  ctx.strokeText(...place);
  ctx.fillText(...place);
});

// Dots where a line would show nothing: a value without neighbours, the only one, or some at one place.
const alone = (u) => clipped(u, (ctx) => {
  const p = ratio(), at = (i) => u.valToPos(u.data[0][i], "x", true);
  u.series.forEach(({ show, width, spanGaps, stroke }, s) => {
    const y = u.data[s];
    if (!s || !show || !width || (spanGaps && y.reduce((n, v) => n + (v != null), 0) > 1)) return;
    ctx.fillStyle = stroke(u, s);
    for (let i = 0, from = -1; i <= y.length; i++) {  // the place behind the last ends what began
      if (y[i] != null) { if (from < 0) from = i; continue; }
      if (from >= 0 && at(i - 1) - at(from) < 2 * p) {
        ctx.beginPath();
        ctx.arc(at(from), u.valToPos(y[from], "y", true), 1.6 * p, 0, 2 * Math.PI);
        ctx.fill();
      }
      from = -1;
    }
  });
});

// The outcomes outside. Where they are dense, one dot for each few pixels and side: the one that is farthest out.
const missed = (x, y, hit, middle) => (u) => clipped(u, (ctx) => {
  const p = ratio(), { from, to } = view, r = (to - from > 2 * u.width ? 1.6 : 2.6) * p, columns = new Map();
  for (let i = from; i <= to; i++) {
    if (hit[i] !== 0) continue;
    const a = u.valToPos(x[i], "x", true), b = u.valToPos(y[i], "y", true), above = y[i] >= middle(i);
    const place = 2 * Math.floor(a / (3 * r)) + above, there = columns.get(place);
    if (!there || (above ? b < there[1] : b > there[1])) columns.set(place, [a, b]);
  }
  ctx.fillStyle = css("--miss");
  ctx.beginPath();
  for (const [a, b] of columns.values()) { ctx.moveTo(a + r, b); ctx.arc(a, b, r, 0, 2 * Math.PI); }
  ctx.fill();
});

// A triangle on the time axis: down where too few were inside, up where too many were.
function triangle(ctx, a, b, r, down) {
  ctx.beginPath();
  ctx.moveTo(a - r, b + (down ? -r : r));
  ctx.lineTo(a + r, b + (down ? -r : r));
  ctx.lineTo(a, b + (down ? r : -r));
  ctx.fill();
}
const alarmed = (x, alarms) => (u) => {
  const { ctx, bbox } = u, p = ratio();
  ctx.save();
  alarms.forEach((side, up) => {
    ctx.fillStyle = ctx.strokeStyle = css(up ? "--soft" : "--miss");
    for (const i of side) {
      const a = u.valToPos(x[i], "x", true);
      if (a < bbox.left || a > bbox.left + bbox.width) continue;
      ctx.globalAlpha = 0.45;
      ctx.lineWidth = p;
      ctx.beginPath();
      ctx.moveTo(a, bbox.top);
      ctx.lineTo(a, bbox.top + bbox.height);
      ctx.stroke();
      ctx.globalAlpha = 1;
      triangle(ctx, a, bbox.top + bbox.height, 5 * p, !up);
    }
  });
  ctx.restore();
};

// The range of a chart: all of the firm columns, most of the loose ones (intervals may be huge when little is known). What
// differs by less than a share ``flat`` of itself is drawn as a level line, and not as the rounding of its last digits.
const ranged = (firm, loose, ends = [], flat = 0) => (u, { from, to } = view) => {
  let [low, high] = extent(Float64Array.from(ends));
  const reach = (a, b) => { low = Math.min(low, a); high = Math.max(high, b); };
  for (const column of firm) reach(...extent(column, from, to));
  for (const column of loose) {
    const values = [], step = Math.max(1, Math.floor((to - from) / 2000));
    for (let i = from; i <= to; i += step) if (Number.isFinite(column[i])) values.push(column[i]);
    if (!values.length) continue;
    values.sort((a, b) => a - b);
    const cut = Math.floor(0.005 * values.length);
    reach(values[cut], values[values.length - 1 - cut]);
  }
  if (!(high >= low)) return [0, 1];
  const span = high - low > flat * Math.max(Math.abs(low), Math.abs(high)) ? high - low : 0;
  const room = 0.05 * span || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
};
