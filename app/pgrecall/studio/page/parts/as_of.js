/** A slider over time: what was known then, ranked as it was then. */
import { html, useEffect, useState } from "../html.js";
import { date, toInput, fromInput } from "../core/format.js";
import * as service from "../service/memories.js";
import { Input } from "./controls.js";
import { useAnswer, useSettled, useStudio } from "./hooks.js";

const DAY = 86_400_000;
const WAIT = 120;
const ASIDE = "A text that was edited since is shown as it is now. Supersede, and the past keeps the old one.";

export function AsOf() {
  const { owner, address, go } = useStudio();
  const oldest = useAnswer((signal) => firstDay(owner, signal), [owner]).value;
  const days = Math.max(1, Math.ceil((Date.now() - (oldest ?? Date.now() - 365 * DAY)) / DAY));
  const chosen = address.values.as_of;
  const [day, setDay] = useState(null); // days before now, while the slider moves
  const settled = useSettled(day, WAIT);
  useEffect(() => setDay(null), [chosen]); // it may be taken off elsewhere
  useEffect(() => {
    if (settled !== null) go({ values: { as_of: settled ? momentOf(settled) : null } }, { replace: true });
  }, [settled]);
  const before = day ?? (chosen ? Math.round((Date.now() - new Date(chosen)) / DAY) : 0);
  const moment = day === null ? chosen : day && momentOf(day);
  const said = moment ? date(moment) : "now";
  const [onDay, at] = toInput(chosen).split("T");
  const exact = (given) => {
    const [newDay, newAt] = [given.day ?? onDay, given.at ?? at];
    const then = fromInput(newDay && `${newDay}T${newAt || "23:59:59"}`); // without a time: its end
    setDay(null);
    go({ values: { as_of: then && new Date(then) < new Date() ? then : null } });
  };
  const means = "Ages and validity are those of this moment; later memories are hidden.";
  return html`<div class="slider as-of" title=${means}>
    <label for="as-of">As of</label>
    <input id="as-of" type="range" min=${-days} max="0" step="1" value=${-before} aria-valuetext=${said}
      onInput=${(event) => setDay(-Number(event.target.value))} />
    <output for="as-of">${said}</output>
    <div class="row">
      <${Input} type="date" aria-label="As of this day" value=${onDay}
        onChange=${({ target }) => exact({ day: target.value })} />
      <${Input} type="time" aria-label="at this time, or else its end" value=${at ?? ""}
        onChange=${({ target }) => exact({ at: target.value })} />
    </div>
    <small>${ASIDE}</small>
  </div>`;
}

function momentOf(daysAgo) {
  return new Date(Date.now() - daysAgo * DAY).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The moment of the owner's oldest memory; null if there is none. */
async function firstDay(owner, signal) {
  const search = { order: "created_at", limit: 1 };
  const page = await service.memories(owner, search, signal);
  return page.memories.length ? new Date(page.memories[0].created_at).getTime() : null;
}
