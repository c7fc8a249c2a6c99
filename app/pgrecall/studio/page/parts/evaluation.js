/** Compares two profiles on judged queries. */
import { html, useEffect, useState } from "../html.js";
import { counted, share } from "../core/format.js";
import { named } from "../core/profile.js";
import { interval, verdict } from "../core/verdict.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";
import { Obstacle } from "./obstacle.js";

const METRICS = {
  ndcg: { label: "order", meaning: "How near the order is to the best one: nDCG." },
  recall: { label: "found", meaning: "The share of the answers that are among the hits." },
  mrr: { label: "first answer", meaning: "1 / place of the first answer, on average." },
};

/** `first` and `second` are profiles. */
export function Evaluation({ first, second, k, judged }) {
  const { owner, announce } = useStudio();
  const [asked, setAsked] = useState(null);
  const [isEmpty, setEmpty] = useState(false); // asked for, with nothing judged
  const { value: found, error, isLoading } = useAnswer(
    asked && ((signal) => service.evaluate(owner, asked, signal)), [asked],
  );
  useEffect(() => {
    setEmpty(false);
    setAsked(null);
  }, [JSON.stringify([judged, first, second, k])]);
  useEffect(() => found && announce("Done."), [found]);
  const evaluate = () =>
    judged.length ? setAsked({ profiles: [named(first), named(second)], k }) : setEmpty(true);
  return html`<section class="panel" aria-labelledby="evaluation">
    <h2 id="evaluation">Which profile is better?</h2>
    <div class="buttons">
      <button type="button" class="main" disabled=${isLoading} onClick=${evaluate}>
        Evaluate ${first.name} and ${second.name}</button>
    </div>
    ${isEmpty && html`<p class="problem" role="alert">Nothing is judged yet: mark hits with ✓ first.</p>`}
    ${error && html`<${Obstacle} problem=${error} />`}
    ${isLoading && html`<p class="loading">Evaluating …</p>`}
    ${found && html`<${Evaluated} found=${found} />`}
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
