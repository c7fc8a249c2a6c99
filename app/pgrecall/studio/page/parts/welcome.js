/** Before the first question: what to ask, or what to do where there is nothing to ask about. */
import { html } from "../html.js";
import { writeMemory } from "../core/address.js";
import { age } from "../core/format.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";
import { NoEmbedder, Obstacle } from "./obstacle.js";
import { brief } from "./text.js";

export function Welcome() {
  const { owner, address } = useStudio();
  const newest = useAnswer((signal) => service.memories(owner, { limit: 5 }, signal), [owner]);
  if (newest.error) return html`<${Obstacle} problem=${newest.error} />`;
  if (!newest.value) return null;
  if (!newest.value.memories.length) return html`<${Empty} owner=${owner} />`;
  return html`<section class="screen">
    <h2>Ask a question to see how memories rank, and why</h2>
    <${NoEmbedder} />
    <p>The newest memories of ${owner}:</p>
    <ul class="plain">
      ${newest.value.memories.map(
        (one) => html`<li key=${one.id}>
          <a href=${writeMemory(one, owner, address.values)}>${brief(one.content)}</a>
          ${" "}<small>${age(one.created_at)}</small>
        </li>`,
      )}
    </ul>
  </section>`;
}

function Empty({ owner }) {
  return html`<section class="screen">
    <h2>${owner} has no memories yet</h2>
    <p>Choose another owner at the top, or store a first memory:</p>
    <pre><code>pgrecall add "Ines takes the tram to work." --agent ${owner}</code></pre>
    <p>To look around with memories that are not yours, stop this and run <code>pgrecall studio --demo</code>.</p>
  </section>`;
}
