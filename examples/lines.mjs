// A program in Node that has intervals made by `wane serve-lines`, which it starts as a child:
//     node examples/lines.mjs
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const child = spawn("wane", ["serve-lines", "--alpha", "0.1", "--journal", "demand.wane"], {
  stdio: ["pipe", "pipe", "inherit"],
});
const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

async function ask(request) {
  child.stdin.write(JSON.stringify(request) + "\n");
  const { value, done } = await answers.next();
  if (done) throw new Error("wane serve-lines has ended");
  const answer = JSON.parse(value);
  if (!answer.ok) throw new Error(`${answer.error.kind}: ${answer.error.message}`);
  return answer;
}

let inside = 0;
for (let day = 0; day < 300; day++) {
  const forecast = 100 + (day % 7);
  const { id, lower, upper } = await ask({ op: "predict", output: forecast, series: "shop 1" });
  const demand = forecast + ((day * day * 7 + day * 3) % 37) / 4 - 4;
  inside += lower <= demand && demand <= upper;
  await ask({ op: "label", id, y: demand, series: "shop 1" });
}
console.log(`${inside} of 300 inside`);

await ask({ op: "label", id: 12345, y: 1, series: "shop 1" }).catch((error) => console.log(error.message.slice(0, 35)));

const { lower, upper } = await ask({ op: "predict", output: 100, series: "shop 1" });
console.log(`the next: ${lower.toFixed(1)} to ${upper.toFixed(1)}`);
child.stdin.end(); // the end of its input is the end of the process
