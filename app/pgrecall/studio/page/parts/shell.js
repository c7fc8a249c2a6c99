/** What stands around every view. */
import { html, useEffect, useRef, useState } from "../html.js";
import { write } from "../core/address.js";
import { counted } from "../core/format.js";
import * as service from "../service/memories.js";
import { Skip } from "./controls.js";
import { useAnswer, useStudio } from "./hooks.js";
import { KeyForm } from "./obstacle.js";

const VIEWS = { ask: "Ask", compare: "Compare", judge: "Judge", browse: "Browse" };

export function Shell({ said, children }) {
  const { session, retry, address } = useStudio();
  const main = useRef(null);
  const [isOther, setOther] = useState(false); // the key stays until another one is given
  useTitle(address);
  useBeginning(main, `${address.view}/${address.id}`);
  return html`<${Skip} to=${main}>Skip to the contents<//>
    <header class="top">
      <h1><span aria-hidden="true">≡</span> pgrecall <small>studio</small></h1>
      <${Views} />
      <div class="who">
        <${OwnerChoice} />
        ${session.keyed &&
        html`<button type="button" aria-expanded=${isOther} onClick=${() => setOther(!isOther)}
          title=${`This key may ${session.scope}.`}>Other key</button>`}
      </div>
      ${isOther && html`<${KeyForm} retry=${retry} />`}
    </header>
    <main id="main" ref=${main} tabindex="-1">${children}</main>
    <div class="unseen" role="status" aria-live="polite">${said}</div>`;
}

function useTitle({ view, values }) {
  useEffect(() => {
    document.title = [values.q, VIEWS[view] ?? "Memory", "pgrecall studio"].filter(Boolean).join(" · ");
  }, [view, values.q]);
}

/** Another view begins at its top, with the focus in it: what had the focus is gone. */
function useBeginning(main, view) {
  const before = useRef(view);
  useEffect(() => {
    if (before.current === view) return;
    before.current = view;
    scrollTo(0, 0);
    if (!main.current.contains(document.activeElement)) main.current.focus({ preventScroll: true });
  }, [view]);
}

function Views() {
  const { address } = useStudio();
  return html`<nav aria-label="Views">
    ${Object.entries(VIEWS).map(
      ([view, label]) => html`<a key=${view} href=${write({ view, values: { ...address.values, of: null } })}
        aria-current=${address.view === view ? "page" : undefined}>${label}</a>`,
    )}
  </nav>`;
}

/** A field with suggestions, since a service may have more owners than any list should have. */
function OwnerChoice() {
  const { owner, address, go } = useStudio();
  const agents = useAnswer((signal) => service.owners({}, signal), []);
  const teams = useAnswer((signal) => service.owners({ teams: true }, signal), []);
  const known = [...(agents.value?.owners ?? []), ...(teams.value?.owners ?? [])];
  const choose = (event) => {
    const chosen = event.target.value.trim();
    const view = address.view === "memory" ? "browse" : address.view; // a memory is of one owner
    if (chosen && chosen !== owner) go({ view, values: { owner: chosen, of: null } });
  };
  return html`<label for="owner">Owner</label>
    <input id="owner" list="owners" key=${owner} defaultValue=${owner} onChange=${choose}
      autocomplete="off" spellcheck=${false} />
    <datalist id="owners">
      ${known.map((one) => {
        const name = one.agent_id ?? `team:${one.team_id}`;
        return html`<option key=${name} value=${name}>${counted(one.memories, "memory", "memories")}</option>`;
      })}
    </datalist>`;
}
