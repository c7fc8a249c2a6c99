/** Compares two profiles on judged queries, and tunes one. */
import { html, useState } from "../html.js";
import { share, counted } from "../core/format.js";
import { interval, verdict } from "../core/verdict.js";
import { toToml } from "../core/profile.js";
import * as service from "../service/memories.js";
import { useStudio } from "./hooks.js";
import { Progress, useLongWork } from "./long_work.js";

const METRICS = { recall: "found", mrr: "first answer", ndcg: "order" };
const MEANING = {
  recall: "The share of the answers that are among the hits.",
  mrr: "1 / place of the first answer, on average.",
  ndcg: "How near the order is to the best one, nDCG.",
};

export function Evaluation({ k }) {
  const { owner, address, defaultProfile, profiles } = useStudio();
  const first = address.values.profile ?? defaultProfile;
  const second = address.values.with ?? profiles.find((one) => one.name !== first).name;
  const [from, setFrom] = useState("judged");
  const [evaluating, tuning] = [useLongWork(), useLongWork()];
  const evaluate = () => evaluating.start((signal) => service.evaluate(owner, { profiles: [first, second], k, from }, signal));
  const tune = () => tuning.start((signal) => service.tune(owner, { start: first, from }, signal));
  return html`<section class="panel" aria-labelledby="evaluation">
    <h2 id="evaluation">Which profile is better?</h2>
    <label class="field">Questions
      <select value=${from} onChange=${(event) => setFrom(event.target.value)}>
        <option value="judged">judged here</option><option value="recorded">recorded, with outcomes of their use</option>
      </select></label>
    <div class="buttons">
      <button type="button" class="main" disabled=${evaluating.isRunning} onClick=${evaluate}>Evaluate ${first} and ${second}</button>
      <button type="button" disabled=${tuning.isRunning} onClick=${tune}>Tune ${first}</button>
    </div>
    <${Progress} work=${evaluating} label="Evaluating" />
    <${Progress} work=${tuning} label="Tuning" />
    ${evaluating.result && html`<${Evaluated} found=${evaluating.result} />`}
    ${tuning.result && html`<${Tuned} found=${tuning.result} />`}
  </section>`;
}

function Evaluated({ found }) {
  return html`<p role="status"><b>${verdict(found)}</b></p>
    <div class="wide"><table class="numbers">
      <thead><tr><th scope="col">profile</th>${Object.entries(METRICS).map(([name, label]) => html`<th key=${name} scope="col" title=${MEANING[name]}>${label}</th>`)}</tr></thead>
      <tbody>${[...found.profiles, ...found.baselines].map(
        (one) => html`<tr key=${one.profile}><th scope="row">${one.profile}</th>
          ${Object.keys(METRICS).map((name) => html`<td key=${name}>${share(one[name])}<${Difference} of=${one[`${name}_difference`]} /></td>`)}</tr>`,
      )}</tbody>
    </table></div>
    <small>With the difference to ${found.profiles[0].profile}, and its 95 % interval.
      ${found.missing > 0 && ` ${counted(found.missing, "judged memory", "judged memories")} no longer there count as not found.`}</small>`;
}

function Difference({ of }) {
  return of && html` <small>${interval(...of)}</small>`;
}

function Tuned({ found }) {
  return html`<p role="status"><b>${found.summary}</b></p>
    ${found.changes.length > 0 && html`<table class="numbers">
      <thead><tr><th scope="col">changed</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
      <tbody>${found.changes.map((one) => html`<tr key=${one.name ?? one.what}><th scope="row">${one.name ?? one.what}</th><td>${String(one.before)}</td><td>${String(one.after)}</td></tr>`)}</tbody>
    </table>`}
    ${found.moved.length > 0 && html`<h3>Its effect on each question</h3><ul class="plain">
      ${found.moved.map((one) => html`<li key=${one.number}><b class=${one.gain > 0 ? "good" : "bad"}>${one.gain > 0 ? "▲" : "▼"} ${placed(one.before)} → ${placed(one.after)}</b> ${one.text ?? `question ${one.number + 1}`}</li>`)}
    </ul>`}
    ${found.proposed && html`<details><summary>The profile it proposes</summary><pre tabindex="0"><code>${toToml(found.proposed)}</code></pre></details>`}`;
}

function placed(rank) {
  return rank === null ? "not found" : `place ${rank}`;
}
