/** A memory's score over the next year, drawn and in words. */
import { html } from "../html.js";
import { ageing } from "../core/future.js";
import { date, share } from "../core/format.js";
import { fullWidth } from "./bar.js";

const DAYS = 365;
const STEP = 5;
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 170, 36, 22];
const MARKS = [
  [0, null],
  [30, "after a month"],
  [91, "after three months"],
  [182, "after half a year"],
  [365, "after a year"],
];
const ANCHORS = ["start", "middle", "middle", "middle", "end"]; // of dates, so that none is cut off

/** `now` is the moment that the chart begins at; undefined for today. */
export function AgeingChart({ profile, memory, explanation, now }) {
  const at = ageing(profile, memory, explanation?.account ?? null, now);
  const then = now ? `on ${date(now)}` : "today";
  if (!at) return html`<p>${profile.name} has no recency and no decay: age changes nothing.</p>`;
  const what = explanation ? "score" : "recency";
  const needed = explanation?.needed_score;
  const top = fullWidth([at(0), needed ?? 0]);
  const said = MARKS.map(([days, when]) => `${when ?? then} ${share(at(days), 3)}`).join(", ");
  return html`<figure class="chart">
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`Its ${what} by ${profile.name}: ${said}`}>
      <${Grid} top=${top} begin=${now ?? Date.now()} />
      ${needed && html`<${Needed} score=${needed} k=${explanation.k} top=${top} then=${then} />`}
      <path class="curve" d=${curve(at, top)} />
    </svg>
    <figcaption>The ${what} by ${profile.name}, if it is not used: ${said}.</figcaption>
  </figure>`;
}

function Grid({ top, begin }) {
  const months = [0, 3, 6, 9, 12].map((month) => (month * DAYS) / 12);
  const day = (days) => date(begin + days * 86_400_000);
  return html`<g class="grid">
    ${[0, top / 2, top].map(
      (value) => html`<path d=${level(value, top)} />
        <text x=${LEFT - 6} y=${y(value, top) + 4} text-anchor="end">${share(value)}</text>`,
    )}
    ${months.map(
      (days, at) => html`<text class=${ANCHORS[at]} x=${x(days)} y=${HEIGHT - 4}
        text-anchor=${ANCHORS[at]}>${day(days)}</text>`,
    )}
  </g>`;
}

function Needed({ score, k, top, then }) {
  const above = y(score, top) - 5;
  return html`<path class="needed" d=${level(score, top)} />
    <text class="needed" x=${WIDTH} y=${above} text-anchor="end">hit ${k} ${then}: ${share(score, 3)}</text>`;
}

function level(value, top) {
  return `M${LEFT} ${y(value, top)}H${WIDTH}`;
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
