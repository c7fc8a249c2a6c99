/** Controls beside the hits; where there is no room beside them, in a sheet at the bottom. */
import { html, useState } from "../html.js";

export function Side({ label, summary, children }) {
  const [isOpen, setOpen] = useState(false);
  return html`<aside class=${isOpen ? "side open" : "side"} aria-label=${label}>
    <button type="button" class="handle" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <span aria-hidden="true">${isOpen ? "▾" : "▴"}</span> ${summary}
    </button>
    <div class="contents">${children}</div>
  </aside>`;
}
