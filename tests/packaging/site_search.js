// Answers questions as the search box of the built site does: with its own worker and its index.
// node site_search.js FOLDER QUESTION… prints, for each question, the pages in order, as JSON.
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const [folder, ...questions] = process.argv.slice(2);
const workers = path.join(folder, "assets", "javascripts", "workers");
const [worker] = fs.readdirSync(workers).filter((name) => /^search\..*\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(folder, "search", "search_index.json")));

let answer;
let listen;
const scope = {
  console,
  addEventListener: (_, listener) => { listen = listener; },
  postMessage: (message) => answer(message),
};
scope.self = scope;
vm.runInNewContext(fs.readFileSync(path.join(workers, worker), "utf-8"), scope);

const ask = (type, data) => new Promise((resolve) => {
  answer = resolve;
  listen({ data: { type, data } });
});

(async () => {
  await ask(0, { ...index, options: { suggest: false } });
  const found = {};
  for (const question of questions) {
    const { data } = await ask(2, question);
    found[question] = data.items.map((page) => page.map((section) => section.location));
  }
  console.log(JSON.stringify(found));
})();
