/** One hit: its text, its bar, and on hover or focus the raw values of its signals. */
import { html, useMemo, useState } from "../html.js";
import { age, date, share } from "../core/format.js";
import { ownerOf, writeMemory } from "../core/address.js";
import { useStudio } from "./hooks.js";
import { Bar, Legend, SignalTable } from "./bar.js";
import { Marked } from "./text.js";

/** `moved` is how many places it rose since the sliders were touched. */
export function Hit({ hit, place, most, weights, moved, values, children, isCurrent = false }) {
  const { memory, terms } = hit.candidate;
  // The same object while sliders move, so that it is not compared again for every hit.
  const content = useMemo(
    () => html`<${Content} memory=${memory} terms=${terms} values=${values} />`,
    [memory, terms, values],
  );
  return html`<li class="hit" data-id=${hit.id} aria-current=${isCurrent ? "true" : undefined}>
    <span class="place">${place}<${Moved} by=${moved} /></span>
    <div class="body">${content}<${Account} hit=${hit} most=${most} weights=${weights} /></div>
    ${children}
  </li>`;
}

/** The score and its parts; with the pointer or the focus on it, the values behind them. */
function Account({ hit, most, weights }) {
  const [isOpen, setOpen] = useState(false);
  const [open, close] = [() => setOpen(true), () => setOpen(false)];
  const card = `values-${hit.id}`;
  return html`<div class="account">
    <div class="score" onMouseEnter=${open} onMouseLeave=${close}>
      <button type="button" class="values" aria-label=${`Score ${share(hit.score, 3)}: values of its signals`}
        aria-expanded=${isOpen} aria-describedby=${isOpen ? card : undefined}
        onFocus=${open} onBlur=${close} onClick=${open} onKeyDown=${({ key }) => key === "Escape" && close()}>
        <b>${share(hit.score, 3)}</b><${Bar} contributions=${hit.contributions} most=${most} />
      </button>
      ${isOpen && html`<div class="card" id=${card} role="tooltip">
        <${SignalTable} ...${hit} weights=${weights} />
      </div>`}
    </div>
    <${Legend} contributions=${hit.contributions} />
  </div>`;
}

/** The text and what is known about it. */
function Content({ memory, terms, values }) {
  return html`<p class="content"><${Marked} text=${memory.content} terms=${terms} /></p>
    <${About} memory=${memory} values=${values} />`;
}

/** `values` of the address, for a link to the memory; none where it is the memory's own page. */
export function About({ memory, values = null }) {
  const { owner } = useStudio();
  const of = ownerOf(memory);
  const since = memory.observed_at ?? memory.created_at;
  return html`<p class="about">
    ${values && html`<a href=${writeMemory(memory, owner, values)}>Look into <code>${memory.id.slice(0, 8)}</code></a>`}
    ${of !== owner && html`<span class="chip">${of}</span>`}
    <span title=${date(since)}>${age(since)}</span>
    <span>${memory.memory_type}</span>
    ${memory.status !== "active" && html`<span class="chip">${memory.status}</span>`}
    ${memory.tags.map((tag) => html`<span key=${tag} class="tag">${tag}</span>`)}
  </p>`;
}

function Moved({ by }) {
  if (!by) return null;
  const said = `${by > 0 ? "rose" : "fell"} by ${Math.abs(by)}`;
  return html`<span class=${by > 0 ? "moved up" : "moved down"}>
    <span aria-hidden="true">${by > 0 ? "▲" : "▼"}${Math.abs(by)}</span><span class="unseen">${said}</span>
  </span>`;
}
