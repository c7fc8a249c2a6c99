/** Compares two profiles on judged queries, and tunes one of them. */
import { html, useEffect, useState } from "../html.js";
import { counted, share } from "../core/format.js";
import { named } from "../core/profile.js";
import { interval, verdict } from "../core/verdict.js";
import * as service from "../service/memories.js";
import { useStudio } from "./hooks.js";
import { Progress, useLongWork } from "./long_work.js";
import { Tuned } from "./tuned.js";

const METRICS = {
  ndcg: { label: "order", meaning: "How near the order is to the best one: nDCG." },
  recall: { label: "found", meaning: "The share of the answers that are among the hits." },
  mrr: { label: "first answer", meaning: "1 / place of the first answer, on average." },
};
const SOURCES = { judged: "judged here", recorded: "recorded, with outcomes of their use" };

/** `first` and `second` are profiles. */
export function Evaluation({ first, second, k, judged }) {
  const { owner } = useStudio();
  const [from, setFrom] = useState("judged");
  const [evaluating, tuning] = [useLongWork(), useLongWork()];
  const [isEmpty, setEmpty] = useState(false); // asked for, with nothing judged
  useEffect(() => {
    setEmpty(false);
    evaluating.stop();
    tuning.stop();
  }, [JSON.stringify([judged, first, second, k]), from]);
  const unlessEmpty = (work) => () => (from === "judged" && !judged.length ? setEmpty(true) : work());
  const both = { profiles: [named(first), named(second)], k, from };
  const evaluate = () => evaluating.start((signal) => service.evaluate(owner, both, signal));
  const tune = () => tuning.start((signal) => service.tune(owner, { start: named(first), k, from }, signal));
  return html`<section class="panel" aria-labelledby="evaluation">
    <h2 id="evaluation">Which profile is better?</h2>
    <label class="field">Questions
      <select value=${from} onChange=${(event) => setFrom(event.target.value)}>
        ${Object.entries(SOURCES).map(([name, label]) => html`<option key=${name} value=${name}>${label}</option>`)}
      </select>
    </label>
    <div class="buttons">
      <button type="button" class="main" disabled=${evaluating.isRunning} onClick=${unlessEmpty(evaluate)}>
        Evaluate ${first.name} and ${second.name}</button>
      <button type="button" disabled=${tuning.isRunning} onClick=${unlessEmpty(tune)}>Tune ${first.name}</button>
    </div>
    ${isEmpty && html`<p class="problem" role="alert">Nothing is judged yet: mark hits with ✓ first.</p>`}
    <${Progress} work=${evaluating} label="Evaluating" />
    <${Progress} work=${tuning} label="Tuning" />
    ${evaluating.result && html`<${Evaluated} found=${evaluating.result} />`}
    ${tuning.result && html`<${Tuned} found=${tuning.result} />`}
  </section>`;
}

function Evaluated({ found }) {
  const measured = [...found.profiles, ...found.baselines];
  return html`<p role="status"><b>${verdict(found)}</b></p>
    <div class="wide" tabindex="0" role="group" aria-label="Measures"><table class="numbers measures">
      <thead><tr>
        <th scope="col">profile</th>
        ${Object.entries(METRICS).map(
          ([name, { label, meaning }]) => html`<th key=${name} scope="col" title=${meaning}>${label}</th>`,
        )}
      </tr></thead>
      <tbody>${measured.map((one) => html`<${Measured} key=${one.profile} one=${one} />`)}</tbody>
    </table></div>
    <small>
      Order is nDCG, 1 where the answers come first.
      With the difference to ${found.profiles[0].profile}, and its 95 % interval.
      ${found.missing > 0 && ` ${counted(found.missing, "answer")} that no longer exist count as not found.`}
    </small>`;
}

function Measured({ one }) {
  return html`<tr>
    <th scope="row">${one.profile.split(/(?<=_)/).map((part) => html`<wbr />${part}`)}</th>
    ${Object.keys(METRICS).map((name) => {
      const difference = one[`${name}_difference`];
      const shown = difference && html` <small>${interval(...difference)}</small>`;
      return html`<td key=${name}>${share(one[name])}${shown}</td>`;
    })}
  </tr>`;
}
