/** "Why not?": finds the memory that somebody misses, by its id or words of its text. */
import { html, useState } from "../html.js";
import { writeMemory } from "../core/address.js";
import { age, count, counted } from "../core/format.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";
import { Obstacle } from "./obstacle.js";
import { brief } from "./text.js";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const SHORT_ID = /^[0-9a-f]{8}$/i; // as the page shows it
const PAGE = 1000;
const MOST_PAGES = 10;

/** Of any status and validity, since one that is kept away is what people look for. */
const ALL = { include_inactive: true };

/**
 * `field` is a reference to the input, so that others can lead there. Memories among those of
 * `search` are found; `beside(memory)` is what stands beside each of them.
 */
export function Missing({ field, action = "Why not?", search = ALL, beside = null }) {
  const { owner, address, go } = useStudio();
  const [words, setWords] = useState("");
  const found = useAnswer(words && ((signal) => matching(owner, words, search, signal)), [owner, words]);
  const look = (event) => {
    event.preventDefault();
    const given = new FormData(event.target).get("words").trim();
    if (ID.test(given) && !beside) go({ view: "memory", id: given, values: { of: null } });
    else setWords(given);
  };
  return html`<section class="missing" aria-labelledby="missing-title">
    <h2 id="missing-title">Is one missing?</h2>
    <form class="row" onSubmit=${look}>
      <label class="field">Its id, or words that all occur in it
        <input name="words" ref=${field} required autocomplete="off" /></label>
      <button type="submit">${action}</button>
    </form>
    ${found.error && html`<${Obstacle} problem=${found.error} />`}
    ${found.value && html`<${Found} memories=${found.value} words=${words} values=${address.values}
      isAll=${search === ALL} beside=${beside} />`}
  </section>`;
}

function Found({ memories, words, values, isAll, beside }) {
  const { owner } = useStudio();
  if (!memories.length && SHORT_ID.test(words)) {
    return html`<p role="status">No id begins so among the ${count(PAGE * MOST_PAGES)} newest memories, and none has it
      in its text. Paste the whole id; the memory's page has it under “What is stored”.</p>`;
  }
  if (!memories.length) return html`<p role="status">
      No memory ${isAll ? "has these words, whatever its status" : "that can be found has these words"}.</p>`;
  return html`<p class="unseen" role="status">${counted(memories.length, "memory", "memories")}</p>
  <ul class=${beside ? "plain judged" : "plain"} aria-label="Memories with these words">
    ${memories.map(
      (one) => html`<li key=${one.id}>
        <span><a href=${writeMemory(one, owner, values)}>${brief(one.content)}</a>
        <small> ${age(one.created_at)}${one.status === "active" ? "" : `, ${one.status}`}</small></span>
        ${beside?.(one)}
      </li>`,
    )}
  </ul>`;
}

async function matching(owner, text, search, signal) {
  if (ID.test(text)) return [await service.memory(owner, text, signal)];
  const byId = SHORT_ID.test(text) ? await withShortId(owner, text.toLowerCase(), search, signal) : [];
  if (byId.length) return byId;
  const filter = { content: { $match: text } };
  return (await service.memories(owner, { ...search, filter, limit: 10 }, signal)).memories;
}

/** The route has no search for the beginning of an id, so the newest memories are looked through. */
async function withShortId(owner, beginning, search, signal) {
  let after;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { memories, next } = await service.memories(owner, { ...search, limit: PAGE, after }, signal);
    const found = memories.filter(({ id }) => id.startsWith(beginning));
    if (found.length || !next) return found;
    after = next;
  }
  return [];
}
