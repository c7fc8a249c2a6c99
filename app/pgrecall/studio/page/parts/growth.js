/** Memories stored by month, as bars with their numbers. */
import { html, useLayoutEffect, useRef } from "../html.js";
import { count } from "../core/format.js";

const MOST = 24;
const [HEIGHT, BAR, GAP] = [120, 30, 6];
const [MONTHS, YEARS] = [HEIGHT + 13, HEIGHT + 27]; // lines of text below the bars

/** `months` maps "2026-05" to a number. The newest ones are in view. */
export function Growth({ months }) {
  const frame = useRef(null);
  useLayoutEffect(() => {
    if (frame.current) frame.current.scrollLeft = frame.current.scrollWidth;
  }, [months]);
  const shown = Object.entries(months).sort().slice(-MOST);
  if (!shown.length) return html`<p>None yet.</p>`;
  const most = Math.max(...shown.map(([, number]) => number));
  const said = shown.map(([month, number]) => `${month}: ${count(number)}`).join(", ");
  return html`<div class="wide" ref=${frame} tabindex="0" role="group" aria-label="Memories by month">
    <svg class="growth" width=${shown.length * (BAR + GAP)} height=${YEARS + 4} role="img" aria-label=${said}>
      ${shown.map(
        ([month, number], at) => html`<${Month} key=${month} at=${at} month=${month} number=${number} most=${most} />`,
      )}
    </svg>
  </div>`;
}

function Month({ at, month, number, most }) {
  const x = at * (BAR + GAP);
  const height = Math.max(1, ((HEIGHT - 16) * number) / most);
  const [middle, top, [year, name]] = [x + BAR / 2, HEIGHT - height, month.split("-")];
  return html`<g text-anchor="middle">
    <rect x=${x} y=${top} width=${BAR} height=${height} rx="2" />
    <text x=${middle} y=${top - 4}>${count(number)}</text>
    <text x=${middle} y=${MONTHS}>${name}</text>
    ${(at === 0 || name === "01") && html`<text x=${middle} y=${YEARS}>${year}</text>`}
  </g>`;
}
