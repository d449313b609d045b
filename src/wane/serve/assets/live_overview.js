// All series, a page at a time, the least likely first; rows change in place, and the order is renewed every few seconds.
const PAGE = 50;  // rows
const list = { offset: 0, search: "", total: 0, rows: new Map() };  // rows of the table by name
const named = (series) => String(series ?? "");

function lineOf(name) {
  const link = made("a", { href: LIVE_PATH + encodeURIComponent(name) }, name || "(no name)");
  const line = made("tr", {}, made("td", {}, link), made("td"), made("td"), ...Array.from({ length: 5 }, () => made("td", { class: "n" })), made("td"));
  link.onkeydown = (e) => {
    const next = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[e.key], row = next && line[next];
    if (next) e.preventDefault();
    if (row) row.querySelector("a").focus();
  };
  return line;
}

function fill(line, row) {
  const texts = [null, null, null, percent(row.coverage), `${percent(row.low)} to ${percent(row.high)}`, amount(row.width), row.labels.toLocaleString("en"), row.waiting.toLocaleString("en")];
  texts.forEach((text, i) => { if (text !== null && line.cells[i].textContent !== text) line.cells[i].textContent = text; });
  line.cells[1].replaceChildren(made("span", { class: `badge ${row.verdict}` }, STATES[row.verdict]));
  bandCell(line.cells[2], row.labels ? row.coverage : null, row.low, row.high);
  const alarm = row.last_alarm, cell = line.cells[8];
  cell.textContent = alarm ? `${alarm.side === "low" ? "▼" : "▲"} ${ago(alarm.at)}` : "";
  cell.title = alarm ? `${dated(Math.round(alarm.at))} UTC` : "";
  line.dataset.target = row.target;
}

function drawBands() {
  const lines = [...list.rows.values()];
  if (lines.length) bandsIn(lines.map((line) => line.cells[2]), +lines[0].dataset.target);
}

async function loadList() {
  const query = new URLSearchParams({ offset: list.offset, limit: PAGE, search: list.search });
  const found = await ask(`/v1/live/overview?${query}`);
  if (found.total && list.offset >= found.total) { list.offset = Math.floor((found.total - 1) / PAGE) * PAGE; return loadList(); }
  at("overview").hidden = false;
  const before = list.rows, active = document.activeElement, body = at("all").tBodies[0];
  list.rows = new Map(found.rows.map((row) => [named(row.series), before.get(named(row.series)) || lineOf(named(row.series))]));
  found.rows.forEach((row) => fill(list.rows.get(named(row.series)), row));
  body.replaceChildren(...list.rows.values());
  if (active && active !== document.activeElement && body.contains(active)) active.focus({ preventScroll: true });
  list.total = found.total;
  const last = list.offset + found.rows.length;
  at("count").textContent = found.total ? `${(list.offset + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${several(found.total, "series", "series")}` : list.search ? "No series has such a name." : "There is no series yet.";
  at("before").disabled = !list.offset;
  at("after").disabled = last >= found.total;
  drawBands();
  document.documentElement.dataset.ready = "yes";
}

function beginList() {
  document.title = "wane: live";
  at("home").hidden = true;
  const renew = seldom(loadList, 3000), go = (offset) => { list.offset = Math.max(0, offset); renew(true); };
  at("before").onclick = () => go(list.offset - PAGE);
  at("after").onclick = () => go(list.offset + PAGE);
  at("find").oninput = () => { list.search = at("find").value; go(0); };
  document.addEventListener("keydown", (e) => { if (e.key === "/" && document.activeElement !== at("find")) { e.preventDefault(); at("find").focus(); } });
  at("find").onkeydown = (e) => { const first = at("all").querySelector("tbody a"); if (e.key === "ArrowDown" && first) { e.preventDefault(); first.focus(); } };
  const changed = ({ rows }) => {
    for (const row of rows) { const line = list.rows.get(named(row.series)); if (line) fill(line, row); }
    drawBands();
    renew();
  };
  listen("/v1/live/events", { overview: changed, alarm: () => renew(), reset: () => renew(true) }, () => renew(true));
}
