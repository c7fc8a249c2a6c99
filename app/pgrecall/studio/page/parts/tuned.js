/** What tuning found: what it changed, what that does to each question, and the profile. */
import { html } from "../html.js";
import { ofQuestions } from "../core/format.js";
import { toToml } from "../core/profile.js";
import { movement } from "../core/verdict.js";
import { SaveProfile } from "./save_profile.js";

export function Tuned({ found }) {
  const { summary, changes, moved, proposed } = found;
  return html`<p role="status"><b>${ofQuestions(summary)}</b></p>
    ${changes.length > 0 && html`<${Changed} changes=${changes} />`}
    ${moved.length > 0 && html`<h3>Its effect on each question</h3>
      <ul class="plain">${moved.map((one) => html`<${Moved} key=${one.number} query=${one} />`)}</ul>`}
    ${proposed && html`<details>
      <summary>The profile it proposes</summary>
      <pre tabindex="0"><code>${toToml(proposed)}</code></pre>
    </details>
    <${SaveProfile} found=${proposed} />`}`;
}

function Changed({ changes }) {
  return html`<table class="numbers">
    <thead><tr><th scope="col">changed</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
    <tbody>${changes.map(
      ({ parameter, before, after }) => html`<tr key=${parameter}>
        <th scope="row">${parameter}</th><td>${before}</td><td>${after}</td>
      </tr>`,
    )}</tbody>
  </table>`;
}

function Moved({ query: { text, number, ...moved } }) {
  const rises = moved.gain > 0;
  return html`<li>
    <b class=${rises ? "good" : "bad"}>${rises ? "▲" : "▼"} ${movement(moved)}</b>
    ${" "}${text ?? `question ${number + 1}`}
  </li>`;
}
