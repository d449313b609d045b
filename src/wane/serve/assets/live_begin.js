// Which view, and the door.
const begun = () => {
  const path = location.pathname;
  if (path.startsWith(LIVE_PATH)) beginSeries(decodeURIComponent(path.slice(LIVE_PATH.length)));
  else beginList();
};
at("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = JSON.stringify({ token: at("token").value });
  const response = await fetch("/live/login", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (response.ok) { at("login").hidden = true; at("token").value = ""; begun(); }
  else told("off", (await response.json()).error.message);
});
ask("/v1/live/overview?limit=1").then(begun, (error) => told("off", `${error.message}.`));
