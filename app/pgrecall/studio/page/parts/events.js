/** The history of a memory as a line of events, oldest first. */
import { html } from "../html.js";
import { date, share, time } from "../core/format.js";
import { brief } from "./text.js";

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
const LONGEST = 240;
const NAMES = { initial: "stored", judgement: "judged" };

export function Events({ events, memory }) {
  if (!events.length) return html`<p>Nothing is recorded of it.</p>`;
  return html`<ol class="events" aria-label="Events, oldest first">
    ${events.map((event) => html`<${Event} key=${event.id} event=${event} dated=${memory.created_at} />`)}
  </ol>`;
}

function Event({ event, dated }) {
  // Memories that were imported are older than their first event.
  const isOfAnotherDay = event.event_type === "initial" && date(dated) !== date(event.occurred_at);
  const by = [event.reason, event.actor && `by ${event.actor}`].filter(Boolean).join(", ");
  return html`<li>
    <time datetime=${event.occurred_at}>${time(event.occurred_at)}</time>
    <b>${NAMES[event.event_type] ?? event.event_type}</b>${isOfAnotherDay && html`<span>, dated ${date(dated)}</span>`}
    ${by && html` <span>${brief(by, 200)}</span>`}
    <${Judged} event=${event} />
    <${Values} before=${event.old_values} after=${event.new_values} />
  </li>`;
}

function Judged({ event: { event_type: type, metadata } }) {
  if (type !== "judgement") return null;
  const said = { true: "answers", false: "does not answer" }[metadata.answers] ?? "no longer judged for";
  return html` <span>${said} “${brief(String(metadata.query), 120)}”</span>`;
}

function Values({ before, after }) {
  const isChanged = (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  const names = Object.keys({ ...before, ...after }).filter(isChanged);
  if (!names.length) return null;
  return html`<ul class="changes">
    ${names.map(
      (name) => html`<li key=${name}>
        ${name.replaceAll("_", " ")}: ${name in before && html`<del>${shown(before[name])}</del> → `}
        <ins>${shown(after[name])}</ins>
      </li>`,
    )}
  </ul>`;
}

function shown(value) {
  if (value === null || value === undefined) return "none";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : share(value, 3);
  if (MOMENT.test(value)) return time(value);
  if (Array.isArray(value)) return brief(value.map(inWords).join(", ") || "none", LONGEST);
  return brief(inWords(value), LONGEST);
}

function inWords(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
