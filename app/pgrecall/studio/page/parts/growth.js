/** Memories stored by month, as bars with their numbers. */
import { html } from "../html.js";
import { count } from "../core/format.js";

const MOST = 24;
const [HEIGHT, BAR, GAP, FOOT] = [120, 26, 6, 18];

/** `months` maps "2026-05" to a number. */
export function Growth({ months }) {
  const shown = Object.entries(months).sort().slice(-MOST);
  if (!shown.length) return html`<p>None yet.</p>`;
  const most = Math.max(...shown.map(([, number]) => number));
  const said = shown.map(([month, number]) => `${month}: ${count(number)}`).join(", ");
  return html`<div class="wide" tabindex="0" role="group" aria-label="Memories by month">
    <svg class="growth" width=${shown.length * (BAR + GAP)} height=${HEIGHT + FOOT} role="img" aria-label=${said}>
      ${shown.map(([month, number], at) => {
        const [x, height] = [at * (BAR + GAP), Math.max(1, ((HEIGHT - 16) * number) / most)];
        const [middle, top, label] = [x + BAR / 2, HEIGHT - height, labelOf(month, at)];
        return html`<g key=${month}>
          <rect x=${x} y=${top} width=${BAR} height=${height} rx="2"><title>${month}: ${count(number)}</title></rect>
          <text x=${middle} y=${top - 4} text-anchor="middle">${count(number)}</text>
          <text x=${middle} y=${HEIGHT + 13} text-anchor="middle">${label}</text>
        </g>`;
      })}
    </svg>
  </div>`;
}

/** "26-05" for the first one and each January, else "05". */
function labelOf(month, at) {
  return at === 0 || month.endsWith("-01") ? month.slice(2) : month.slice(5);
}
