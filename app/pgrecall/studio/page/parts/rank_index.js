/** The rank index of an owner: its state, and the work that is due. */
import { html, useState } from "../html.js";
import { bytes, count, time } from "../core/format.js";
import * as service from "../service/memories.js";
import { useStudio } from "./hooks.js";
import { Progress, useLongWork } from "./long_work.js";

const WORK = { build: "Build it", maintain: "Do what is due", drop: "Drop it" };
const DONE = { build: "It is built.", drop: "It is dropped." };
const NONE = "There is none, and none is needed: ranking every memory is fast up to some ten thousand.";

/** `state` is null where nothing is known of an index; `update` reads it anew. */
export function RankIndex({ state, update }) {
  const { owner, may } = useStudio();
  const work = useLongWork();
  const index = state?.index ?? null;
  const [last, setLast] = useState(null);
  const run = async (verb) => {
    setLast(verb);
    await work.start((signal) => service.rankIndex(owner, verb, {}, signal));
    update();
  };
  const due = state?.due ? ["maintain"] : [];
  const verbs = index ? ["build", ...due, "drop"] : ["build"];
  return html`<section class="panel" aria-labelledby="rank-index">
    <h2 id="rank-index">Rank index ${state?.due
      ? html`<span class="chip warn">due</span>`
      : html`<span class="chip good">nothing is due</span>`}</h2>
    <p>${state?.due ?? (index ? "It is up to date." : NONE)}</p>
    ${index && html`<${Facts} state=${state} index=${index} />`}
    ${may("maintain")
      ? html`<${Buttons} verbs=${verbs} isBusy=${work.isRunning} run=${run} />`
      : html`<small>A key with the scope maintain can build it.</small>`}
    <${Progress} work=${work} label="Working" />
    ${work.result && html`<p class="done" role="status">${said(last, work.result)}</p>`}
  </section>`;
}

function said(verb, { built = [] }) {
  if (verb !== "maintain") return DONE[verb];
  return built.length ? "What was due is done: it was built anew." : "What was due is done.";
}

const BESIDE = "These are scored beside the index, and found all the same. Some are not yet work that is due.";

function Facts({ state, index }) {
  return html`<dl class="facts">
    <dt>memories</dt><dd>${count(index.memories)}</dd>
    <dt>built</dt><dd>${time(index.built_at)}</dd>
    <dt>written since</dt><dd>${count(state.written)} <small>new memories, not yet in it</small></dd>
    <dt>changed since</dt><dd>${count(state.changed)} <small>memories in it whose values changed</small></dd>
    <dt>size</dt><dd>${bytes(state.bytes)}</dd>
  </dl>
  ${state.written + state.changed > 0 && html`<small>${BESIDE}</small>`}`;
}

function Buttons({ verbs, isBusy, run }) {
  return html`<div class="buttons">
    ${verbs.map(
      (verb) => html`<button key=${verb} type="button" class=${verb === "drop" ? "danger" : ""} disabled=${isBusy}
        onClick=${() => run(verb)}>${WORK[verb]}</button>`,
    )}
  </div>`;
}
