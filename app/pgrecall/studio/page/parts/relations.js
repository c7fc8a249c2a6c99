/** What a memory is connected with: its successor and its links. */
import { html } from "../html.js";
import { write } from "../core/address.js";
import { share } from "../core/format.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";
import { brief } from "./text.js";

export function Relations({ memory, version }) {
  const { owner } = useStudio();
  const links = useAnswer((signal) => service.links(owner, memory.id, signal), [owner, memory.id, version]);
  const linked = links.value?.links ?? [];
  return html`<dl class="facts">
    ${memory.superseded_by && html`<dt>Superseded by</dt><dd><${Other} id=${memory.superseded_by} /></dd>`}
    <dt>Links</dt>
    <dd>
      ${!linked.length && "none"}
      <ul class="plain">${linked.map((one) => html`<${Link} key=${keyOf(one)} link=${one} own=${memory.id} />`)}</ul>
    </dd>
  </dl>`;
}

function keyOf({ source_id: source, target_id: target, kind }) {
  return `${source}/${target}/${kind}`;
}

function Link({ link, own }) {
  const leads = link.source_id === own;
  return html`<li>
    ${leads ? "→" : "←"} ${link.kind} <small>${share(link.weight)}</small>
    ${" "}<${Other} id=${leads ? link.target_id : link.source_id} />
  </li>`;
}

/** Another memory by the beginning of its text, or by its id where it is not there. */
export function Other({ id }) {
  const { owner, address } = useStudio();
  const found = useAnswer((signal) => service.memory(owner, id, signal), [owner, id]);
  const href = write({ view: "memory", id, values: address.values });
  return html`<a href=${href}>${found.value ? brief(found.value.content) : id}</a>`;
}
