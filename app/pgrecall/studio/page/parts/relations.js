/** What a memory is connected with: its successor, its links and its labels. */
import { html } from "../html.js";
import { write } from "../core/address.js";
import { share } from "../core/format.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";
import { brief } from "./text.js";

export function Relations({ memory, version }) {
  const { owner } = useStudio();
  const links = useAnswer((signal) => service.links(owner, memory.id, signal), [owner, memory.id, version]);
  const labels = useAnswer((signal) => service.labels(owner, memory.id, signal), [owner, memory.id, version]);
  const linked = links.value?.links ?? [];
  const labelled = labels.value?.labels ?? [];
  return html`<dl class="facts">
    ${memory.superseded_by && html`<dt>Superseded by</dt><dd><${Other} id=${memory.superseded_by} /></dd>`}
    <dt>Links</dt>
    <dd>${linked.length ? html`<ul class="plain">${linked.map((link) => html`<${Link} key=${`${link.source_id}${link.target_id}${link.kind}`} link=${link} own=${memory.id} />`)}</ul>` : "none"}</dd>
    <dt>Labels</dt>
    <dd>${labelled.length ? labelled.map((one) => html`<span key=${`${one.kind}${one.value}`} class="tag" title=${`weight ${share(one.weight)}`}>${one.value} <small>${one.kind}</small></span> `) : "none"}</dd>
  </dl>`;
}

function Link({ link, own }) {
  const leads = link.source_id === own;
  return html`<li>${leads ? "→" : "←"} ${link.kind} <small>${share(link.weight)}</small> <${Other} id=${leads ? link.target_id : link.source_id} /></li>`;
}

/** Another memory by the beginning of its text, or by its id where it is not there. */
function Other({ id }) {
  const { owner, address } = useStudio();
  const found = useAnswer((signal) => service.memory(owner, id, signal), [owner, id]);
  return html`<a href=${write({ view: "memory", id, values: address.values })}>${found.value ? brief(found.value.content) : id}</a>`;
}
