// The numbers in the page: read when they are needed, kept afterwards.
const report = JSON.parse(document.getElementById("data").textContent);

async function numbers(column) {
  const deflated = Uint8Array.from(atob(column.data), (c) => c.charCodeAt(0));
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = column.size, n = planes.length / size, bytes = new Uint8Array(planes.length);
  for (let p = 0; p < size; p++) for (let i = 0; i < n; i++) bytes[i * size + p] = planes[p * n + i];
  const found = size === 8 ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
  return Object.assign(Float64Array.from(found, (x) => x + column.middle), { middle: column.middle, exact: size === 8 });
}

// A track with its columns as arrays; x is the time in seconds, a number, or the round.
async function loaded(track) {
  if (track.ready) return track.ready;
  const { y, y_hat, time, rounds } = track;
  const made = { track, y: y ? await numbers(y) : null, y_hat: y_hat ? await numbers(y_hat) : null };
  made.x = time ? await numbers(time) : Float64Array.from({ length: rounds }, (_, i) => i);
  if (track.dates) track.grain = grainOf(made.x);
  made.levels = [];
  for (const level of track.levels) {
    const columns = {};
    for (const name of ["lower", "upper", "size", "hit", "coverage", "width", "sum"]) if (level[name]) columns[name] = await numbers(level[name]);
    made.levels.push({ ...level, ...columns });
  }
  return (track.ready = made);
}
