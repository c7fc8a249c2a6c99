/** Why a memory is where it is for the question, and what would have to change. */
import { html } from "../html.js";
import { write } from "../core/address.js";
import { count, percent, readable, share } from "../core/format.js";
import { filtersInTheWay, isNotValid } from "../core/remedy.js";
import { Bar, Legend, SignalTable, fullWidth } from "./bar.js";
import { useStudio } from "./hooks.js";
import { Adjusted, Remedies, useAdvice } from "./remedies.js";

export function Explanation({ found, profile, base, id }) {
  const { address } = useStudio();
  const { returned, rank, k, score, needed_score: needed, account, contributions, reasons } = found;
  const weights = of(account, "weight");
  // What is kept away for another reason, no weight brings in.
  const isOutranked = !returned && rank > k && !isKept(reasons);
  const advice = useAdvice(isOutranked ? found : null, profile, id);
  const isHopeless = isOutranked && advice.value?.ways.length === 0;
  const title = returned ? `It is hit ${count(rank)}` : "It is not among the hits";
  return html`<section class="panel" aria-labelledby="why">
    <h2 id="why">${title} for “${address.values.q}”</h2>
    <p>${placed(found)}. Ranked by ${base.name}.</p>
    <${Adjusted} base=${base} profile=${profile} />
    <div class="values">
      <b>${share(score, 3)}</b><${Bar} contributions=${contributions} most=${fullWidth([score, needed ?? 0])} />
    </div>
    <${Legend} contributions=${contributions} />
    ${reasons.length > 0 && html`<h3>What keeps it away</h3>
      <ul class="reasons">${reasons.map((one) => html`<li key=${one}>${readable(one)}</li>`)}</ul>
      <${Lifting} reasons=${reasons} />`}
    ${isOutranked && html`<${Remedies} found=${found} profile=${profile} id=${id} advice=${advice} />`}
    <details open=${!returned}>
      <summary>Its signals${needed === null ? "" : `, and how far each is behind hit ${k}`}</summary>
      <${SignalTable} values=${found.signals} weights=${weights} contributions=${contributions} isExplained
        behind=${needed === null ? null : of(account, "behind")} />
    </details>
    ${found.terms && html`<${Terms} terms=${found.terms} isOpen=${isHopeless} />`}
  </section>`;
}

/** By a filter, or since it is not valid: not by its score. */
function isKept(reasons) {
  return reasons.some((one) => !one.startsWith("outranked"));
}

function placed({ rank, ranked, score, needed_score: needed, k, reasons, returned }) {
  const is = !returned && isKept(reasons) ? "By its score it would be" : "It is";
  const place = `${is} number ${count(rank)} of the ${count(ranked)} that pass, with ${share(score, 3)}`;
  return needed === null || returned ? place : `${place}; hit ${k} has ${share(needed, 3)}`;
}

function of(account, what) {
  return Object.fromEntries(account.filter((one) => one.weight !== undefined).map((one) => [one.signal, one[what]]));
}

/** What to do about what does not depend on its score. */
function Lifting({ reasons }) {
  const { address } = useStudio();
  const without = (name) => write({ ...address, values: { ...address.values, [name]: null } });
  return html`${filtersInTheWay(address.values, reasons).map(
      ({ name, label }) => html`<p key=${name}><a href=${without(name)}>Take the filter “${label}” off</a></p>`,
    )}
    ${isNotValid(reasons) && html`<p>Move “As of” to a time when it was valid, or revive it.</p>`}`;
}

function Terms({ terms, isOpen }) {
  return html`<details open=${isOpen}>
    <summary>The question's words</summary>
    <table class="signals">
      <thead><tr>
        <th scope="col">word</th><th scope="col">in it</th><th scope="col">counts</th><th scope="col">memories</th>
      </tr></thead>
      <tbody>${terms.map(
        (one) => html`<tr key=${one.term}>
          <th scope="row">${one.term}</th><td>${one.left_out ? "no memory has it" : one.matched ? "yes" : "no"}</td>
          <td>${percent(one.share)}</td><td>${count(one.memories)}</td>
        </tr>`,
      )}</tbody>
    </table>
  </details>`;
}
