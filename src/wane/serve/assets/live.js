// What both views of the live page use: asking, listening, and telling how the connection is.
const at = (id) => document.getElementById(id);
const STATES = { good: "on target", low: "too few inside", high: "too many inside", few: "too early to judge" };
const LIVE_PATH = "/live/series/";

async function ask(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  at("login").hidden = response.status !== 401;
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(found.error ? found.error.message : `the service answers ${response.status}`);
  return found;
}

function told(state, text) {
  at("connection").className = `connection ${state}`;
  if (at("state").textContent !== text) at("state").textContent = text;
}
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
const ago = (seconds) => {
  const s = Math.max(0, Date.now() / 1000 - seconds);
  if (s < 60) return "just now";
  const [n, unit] = s < 3600 ? [s / 60, "minute"] : s < 86400 ? [s / 3600, "hour"] : [s / 86400, "day"];
  return `${several(Math.floor(n), unit, `${unit}s`)} ago`;
};

// At most once in so many milliseconds, and once more after the last call; a failure is told and tried again.
function seldom(work, wait) {
  let timer = 0, running = false, asked = false;
  const go = async () => {
    timer = 0;
    if (running) { asked = true; return; }
    running = true;
    try { await work(); } catch (error) { told("off", `Cannot be read: ${error.message}`); }
    running = false;
    if (asked) { asked = false; timer = timer || setTimeout(go, wait); }
  };
  return (soon = false) => { if (soon) { clearTimeout(timer); timer = setTimeout(go, 0); } else timer = timer || setTimeout(go, wait); };
}

// Listen to events for ever. ``again`` is called whenever the connection begins anew: everything may have changed meanwhile.
function listen(address, handlers, again) {
  let wait = 500;
  const open = () => {
    const source = new EventSource(address);
    source.onopen = () => { wait = 500; told("good", "Connected; the page follows the service."); again(); };
    source.onerror = () => {
      told("off", "The connection is lost; trying again.");
      source.close();  // at a pace of our own: browsers give up after some answers
      setTimeout(open, wait);
      wait = Math.min(2 * wait, 8000);
    };
    for (const [kind, handle] of Object.entries(handlers)) source.addEventListener(kind, (e) => handle(JSON.parse(e.data)));
  };
  open();
}

const bandCell = (cell, v, low, high) => { Object.assign(cell.dataset, { v: v ?? NaN, low, high }); cell.className = "band"; };
