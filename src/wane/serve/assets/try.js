// A form for each address of the service, made from its description.
"use strict";
const at = (id) => document.getElementById(id);

function example(operation) {
  const schema = operation.requestBody?.content["application/json"].schema;
  if (!schema) return "";
  const fields = schema.required.map((name) => [name, schema.properties[name].example ?? [{ op: "stats" }]]);
  return JSON.stringify(Object.fromEntries(fields));
}

async function begin() {
  const { paths } = await (await fetch("/openapi.json")).json();
  const known = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  known.forEach(({ method, path, operation }, i) => {
    at("address").add(new Option(`${method} ${path}: ${operation.summary}`, i));
  });
  const choose = () => {
    const { path, operation } = known[at("address").value];
    at("path").value = path.replace("{series}", "shop%201");
    at("body").value = example(operation);
    at("body").disabled = !operation.requestBody;
  };
  at("address").addEventListener("change", choose);
  choose();
  at("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const { method } = known[at("address").value];
    const headers = { "Content-Type": "application/json" };
    if (at("token").value) headers.Authorization = `Bearer ${at("token").value}`;
    const response = await fetch(at("path").value, { method, headers, body: method === "POST" ? at("body").value : undefined });
    const text = await response.text();
    at("answer").textContent = `${response.status} ${response.statusText}\n${text}`;
  });
}
begin();
