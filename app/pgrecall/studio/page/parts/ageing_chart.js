/** A memory's score over the next year, drawn and in words. */
import { html } from "../html.js";
import { ageing } from "../core/future.js";
import { date, share } from "../core/format.js";

const DAYS = 365;
const STEP = 5;
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 170, 36, 22];
const MARKS = [[0, "today"], [30, "in a month"], [91, "in three months"], [182, "in half a year"], [365, "in a year"]];

export function AgeingChart({ profile, memory, explanation }) {
  const at = ageing(profile, memory, explanation?.account ?? null);
  if (!at) return html`<p>${profile.name} has no recency and no decay: age changes nothing.</p>`;
  const what = explanation ? "score" : "recency";
  const top = Math.max(0.1, Math.ceil(10 * Math.max(at(0), explanation?.needed_score ?? 0)) / 10);
  const said = MARKS.map(([days, when]) => `${when} ${share(at(days), 3)}`).join(", ");
  return html`<figure class="chart">
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`Its ${what} by ${profile.name}: ${said}`}>
      <${Grid} top=${top} />
      ${explanation?.needed_score && html`<${Needed} score=${explanation.needed_score} k=${explanation.k} top=${top} />`}
      <path class="curve" d=${curve(at, top)} />
    </svg>
    <figcaption>The ${what} by ${profile.name}, if it is not used: ${said}.</figcaption>
  </figure>`;
}

function Grid({ top }) {
  const months = [0, 3, 6, 9, 12].map((month) => (month * DAYS) / 12);
  const day = (days) => date(Date.now() + days * 86_400_000);
  return html`<g class="grid">
    ${[0, top / 2, top].map(
      (value) => html`<path d=${`M${LEFT} ${y(value, top)}H${WIDTH}`} /><text x=${LEFT - 6} y=${y(value, top) + 4} text-anchor="end">${share(value)}</text>`,
    )}
    ${months.map(
      (days, at) => html`<text x=${x(days)} y=${HEIGHT - 4} text-anchor=${["start", "middle", "middle", "middle", "end"][at]}>${day(days)}</text>`,
    )}
  </g>`;
}

function Needed({ score, k, top }) {
  return html`<path class="needed" d=${`M${LEFT} ${y(score, top)}H${WIDTH}`} />
    <text class="needed" x=${WIDTH} y=${y(score, top) - 5} text-anchor="end">hit ${k} today: ${share(score, 3)}</text>`;
}

function curve(at, top) {
  const points = [];
  for (let days = 0; days <= DAYS; days += STEP) points.push(`${x(days).toFixed(1)} ${y(at(days), top).toFixed(1)}`);
  return `M${points.join("L")}`;
}

function x(days) {
  return LEFT + ((WIDTH - LEFT) * days) / DAYS;
}

function y(value, top) {
  return 10 + (HEIGHT - 10 - BOTTOM) * (1 - value / top);
}
