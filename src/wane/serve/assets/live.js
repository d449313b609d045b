// The overview of all series, kept up to date by server-sent events.
"use strict";
const at = (id) => document.getElementById(id);
const shown = (x) => (x === null ? "" : typeof x === "number" ? String(Math.round(x * 1000) / 1000) : String(x));

async function load() {
  const response = await fetch("/v1/live/overview?limit=200");
  at("login").hidden = response.status !== 401;
  if (!response.ok) {
    at("state").textContent = (await response.json()).error.message;
    return false;
  }
  const found = await response.json();
  at("state").textContent = `${found.total} series`;
  at("rows").replaceChildren(
    ...found.rows.map((row) => {
      const line = document.createElement("tr");
      const alarm = row.last_alarm ? new Date(1000 * row.last_alarm.at).toISOString() : "";
      for (const x of [row.series, row.coverage, row.target, row.width, row.labels, row.waiting, alarm])
        line.appendChild(document.createElement("td")).textContent = shown(x);
      return line;
    }),
  );
  return true;
}

async function begin() {
  if (!(await load())) return;
  const events = new EventSource("/v1/live/events");
  for (const kind of ["overview", "reset", "alarm"]) events.addEventListener(kind, load);
}

at("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = JSON.stringify({ token: at("token").value });
  await fetch("/live/login", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  begin();
});
begin();
