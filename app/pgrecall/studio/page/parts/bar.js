/** A score as a stacked bar of contributions, each with its number. */
import { html } from "../html.js";
import { colourOf, meaningOf, nameOf } from "../core/signals.js";
import { share } from "../core/format.js";

const LEAST_SHOWN = 0.005; // what rounds to .00

/** `most` is the score of a bar of full width. */
export function Bar({ contributions, most }) {
  const parts = Object.entries(contributions).filter(([, value]) => value > 0);
  return html`<div class="bar" aria-hidden="true">
    ${parts.map(
      ([name, value]) =>
        html`<span key=${name} class="part ${colourOf(name)}" style=${{ width: `${(100 * value) / most}%` }}></span>`,
    )}
  </div>`;
}

export function Legend({ contributions }) {
  const parts = Object.entries(contributions)
    .filter(([, value]) => value >= LEAST_SHOWN)
    .sort(([, one], [, other]) => other - one);
  return html`<span class="legend">
    ${parts.map(
      ([name, value]) => html`<span key=${name} title=${meaningOf(name)}>
        <${Swatch} name=${name} />${nameOf(name)} ${share(value)}</span>`,
    )}
  </span>`;
}

/** What the colours of some bars mean. */
export function Key({ signals }) {
  return html`<p class="legend key-of-colours">
    ${signals.map(
      (name) => html`<span key=${name} title=${meaningOf(name)}><${Swatch} name=${name} />${nameOf(name)}</span>`,
    )}
  </p>`;
}

export function Swatch({ name }) {
  return html`<i class="swatch ${colourOf(name)}" aria-hidden="true"></i>`;
}

/** The raw value of each signal, its weight, and what they contribute. */
export function SignalTable({ values, weights, contributions, behind = null }) {
  return html`<table class="signals">
    <thead>
      <tr><th scope="col">signal</th><th scope="col">value</th><th scope="col">weight</th><th scope="col">part</th>
      ${behind && html`<th scope="col">behind</th>`}</tr>
    </thead>
    <tbody>
      ${Object.keys(weights).map(
        (name) => html`<tr key=${name}>
          <th scope="row" title=${meaningOf(name)}><${Swatch} name=${name} />${nameOf(name)}</th>
          <td>${share(values[name] ?? 0, 3)}</td>
          <td>${share(weights[name], 3)}</td>
          <td>${share(contributions[name] ?? 0, 3)}</td>
          ${behind && html`<td>${typeof behind[name] === "number" ? share(behind[name], 3) : ""}</td>`}
        </tr>`,
      )}
      ${"decay" in values &&
      html`<tr>
        <th scope="row" title=${meaningOf("decay")}><${Swatch} name="decay" />${nameOf("decay")}</th><td>× ${share(values.decay, 3)}</td>
      </tr>`}
    </tbody>
  </table>`;
}

/** The score of a bar of full width: the next tenth, so that it seldom changes while sliders move. */
export function fullWidth(scores) {
  return Math.max(0.1, Math.ceil(Math.max(0, ...scores) * 10) / 10);
}
