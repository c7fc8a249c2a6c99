/** Browse: every memory of the owner, newest first; each leads to what can be done to it. */
import { html, useEffect, useState } from "../html.js";
import { EVERY_STATUS, filtersIn } from "../core/question.js";
import { count, counted } from "../core/format.js";
import { Filters, Input } from "../parts/controls.js";
import { About } from "../parts/hit.js";
import { useAnswer, useStudio } from "../parts/hooks.js";
import { Obstacle } from "../parts/obstacle.js";
import * as service from "../service/memories.js";

const ORDERS = {
  "-created_at": "newest first",
  created_at: "oldest first",
  "-importance": "most important first",
  "-last_accessed_at": "last found first",
  "-retrieval_count": "most often found first",
};
const PAGE = 50;

export function View() {
  const { owner, address, go } = useStudio();
  const { values } = address;
  const order = values.order ?? "-created_at";
  // The words and the status are of this view alone: other views would be filtered unseen.
  const own = { ...values, text: values.words, inactive: true };
  const status = values.status ? [{ status: values.status }] : [];
  const search = { ...filtersIn(own, ...status), order, limit: PAGE };
  const [pages, after, next] = usePages(JSON.stringify(search));
  const load = (signal) => service.memories(owner, { ...search, after, total: true }, signal);
  const page = useAnswer(load, [owner, JSON.stringify(search), after]);
  useEffect(() => page.value && next.remember(page.value, after), [page.value]);
  const choose = (name) => (event) => go({ values: { [name]: event.target.value || null } });
  return html`<div class="browse">
    <form class="row" onSubmit=${(event) => event.preventDefault()}>
      <label class="field">Words that must occur
        <${Input} type="search" value=${values.words ?? ""} onChange=${choose("words")} /></label>
      <label class="field narrow-2">Status
        <select value=${values.status ?? ""} onChange=${choose("status")}>
          <option value="">any</option>
          ${EVERY_STATUS.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
        </select></label>
      <label class="field narrow-2">Order
        <select value=${order} onChange=${choose("order")}>
          ${Object.entries(ORDERS).map(([one, label]) => html`<option key=${one} value=${one}>${label}</option>`)}
        </select></label>
    </form>
    <${Filters} without="text" />
    ${page.error && html`<${Obstacle} problem=${page.error} />`}
    <${Listed} memories=${pages} total=${page.value?.total} />
    ${page.value?.next && html`<button type="button" onClick=${() => next.load(page.value.next)}>Show more</button>`}
  </div>`;
}

/** Pages that were read so far, one after the other; a new search begins anew. */
function usePages(search) {
  const [state, setState] = useState({ search, pages: [], after: undefined });
  const now = state.search === search ? state : { search, pages: [], after: undefined };
  const remember = (page, after) =>
    setState({ search, pages: [...(after ? now.pages : []), ...page.memories], after });
  const load = (after) => setState({ ...now, after });
  return [now.pages, now.after, { remember, load }];
}

function Listed({ memories, total }) {
  const { address } = useStudio();
  if (total === undefined) return null;
  return html`<p class="summary" role="status">${count(memories.length)} of ${counted(total, "memory", "memories")}</p>
    <ul class="hits" aria-label="Memories">
      ${memories.map(
        (memory) => html`<li key=${memory.id} class="hit"><div class="body">
          <p class="content">${memory.content}</p><${About} memory=${memory} values=${address.values} />
          ${memory.invalidated_at && html`<span class="chip bad">${memory.invalidation_reason}</span>`}
          ${memory.needs_review && html`<span class="chip warn">needs review</span>`}
        </div></li>`,
      )}
    </ul>`;
}
