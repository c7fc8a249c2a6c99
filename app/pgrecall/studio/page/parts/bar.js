/** A score as a stacked bar of contributions, each with its number. */
import { html } from "../html.js";
import { colourOf, meaningOf, nameOf } from "../core/signals.js";
import { share } from "../core/format.js";

const LEAST_SHOWN = 0.005; // what rounds to .00

/**
 * `most` is the score of a bar of full width. The parts are one background, not elements that a
 * browser lays out and moves: Chromium drew some of these without width after another profile.
 */
export function Bar({ contributions, most }) {
  return html`<div class="bar" aria-hidden="true" style=${{ backgroundImage: stripes(contributions, most) }}></div>`;
}

function stripes(contributions, most) {
  const stops = [];
  let from = 0;
  for (const [name, value] of Object.entries(contributions)) {
    if (value <= 0) continue;
    const to = from + (100 * value) / most;
    const end = `max(${from}%, ${to}% - 1px)`; // a line between two parts
    stops.push(`${colourOf(name)} ${from}% ${end}`, `var(--sheet) ${end} ${to}%`);
    from = to;
  }
  return `linear-gradient(90deg, ${[...stops, `transparent ${from}%`, "transparent 100%"].join(", ")})`;
}

export function Legend({ contributions }) {
  const parts = Object.entries(contributions).filter(([, value]) => value >= LEAST_SHOWN);
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
  return html`<i class="swatch" style=${{ background: colourOf(name) }} aria-hidden="true"></i>`;
}

/** The raw value of each signal, its weight, and what they contribute; where there is room, what it means. */
export function SignalTable({ values, weights, contributions, behind = null, isExplained = false }) {
  const meaning = (name) => isExplained && html`<small>${meaningOf(name)}</small>`;
  return html`<table class="signals">
    <thead>
      <tr><th scope="col">signal</th><th scope="col">value</th><th scope="col">weight</th><th scope="col">part</th>
      ${behind && html`<th scope="col">behind</th>`}</tr>
    </thead>
    <tbody>
      ${Object.keys(weights).map(
        (name) => html`<tr key=${name}>
          <th scope="row" title=${meaningOf(name)}><${Swatch} name=${name} />${nameOf(name)}${meaning(name)}</th>
          <td>${share(values[name] ?? 0, 3)}</td>
          <td>${share(weights[name], 3)}</td>
          <td>${share(contributions[name] ?? 0, 3)}</td>
          ${behind && html`<td>${typeof behind[name] === "number" ? share(behind[name], 3) : ""}</td>`}
        </tr>`,
      )}
      ${"decay" in values &&
      html`<tr>
        <th scope="row" title=${meaningOf("decay")}><${Swatch} name="decay" />${nameOf("decay")}${meaning("decay")}</th>
        <td>× ${share(values.decay, 3)}</td>
      </tr>`}
    </tbody>
  </table>`;
}

/** The score of a bar of full width: the next tenth, so that it seldom changes while sliders move. */
export function fullWidth(scores) {
  return Math.max(0.1, Math.ceil(Math.max(0, ...scores) * 10) / 10);
}
