/** The question, and what it is asked with. Each control writes the address when it is left. */
import { html, useLayoutEffect, useRef } from "../html.js";
import { FILTERS, MOST_HITS, hitsIn, inForce, isJsonObject } from "../core/question.js";
import { fromInput, toInput } from "../core/format.js";
import { useStudio } from "./hooks.js";

/** Shows `value` whenever that changes; what somebody writes stays when an answer arrives meanwhile. */
export function Input({ value, ...its }) {
  const field = useRef(null);
  useLayoutEffect(() => {
    field.current.value = value;
  }, [value]);
  return html`<input ref=${field} ...${its} />`;
}

/** For whoever goes by keyboard: shown where the focus is on it. */
export function Skip({ to, children }) {
  const skip = (event) => {
    event.preventDefault();
    to.current.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>${children}</a>`;
}

/** The same question again is asked `again`: memories may have changed. */
export function QuestionForm({ label = "Question", again }) {
  const { address, go } = useStudio();
  const ask = (event) => {
    event.preventDefault();
    const q = new FormData(event.target).get("q").trim();
    if (q && q === address.values.q && !address.values.sought) again();
    else go({ values: { q, sought: null } });
  };
  return html`<form class="question" role="search" onSubmit=${ask}>
    <label class="unseen" for="q">${label}</label>
    <${Input} id="q" name="q" type="search" value=${address.values.q ?? ""}
      placeholder="Ask what the agent would ask …" autocomplete="off" maxlength="10000"
      autofocus=${!address.values.q} />
    <button type="submit" class="main">Ask</button>
  </form>`;
}

/** `name` is the value in the address that holds the choice. */
export function ProfileChoice({ name = "profile", label = "Profile", otherwise }) {
  const { address, go, profiles, defaultProfile } = useStudio();
  const chosen = address.values[name] ?? otherwise ?? defaultProfile;
  const choose = (event) => go({ values: { ...withoutSliders(address.values, name), [name]: event.target.value } });
  return html`<label class="field">${label}
    <select value=${chosen} onChange=${choose}>
      ${profiles.map(
        ({ name: one }) => html`<option key=${one} value=${one}>
          ${one}${one === defaultProfile && " (default)"}
        </option>`,
      )}
    </select>
  </label>`;
}

/** Sliders belong to the profile that they began with. */
function withoutSliders(values, name) {
  if (name !== "profile") return {};
  const names = Object.keys(values).filter((one) => one.startsWith("w.") || one === "half_life");
  return Object.fromEntries(names.map((one) => [one, null]));
}

export function HitCount() {
  const { address, go } = useStudio();
  const change = (event) => go({ values: { k: event.target.value } });
  return html`<label class="field narrow">Hits (k)
    <${Input} type="number" min="1" max=${MOST_HITS} value=${hitsIn(address.values)} onChange=${change} />
  </label>`;
}

/** Above the hits: each can be taken off, and “as of” is back to now then. */
export function InForce() {
  const { address, go } = useStudio();
  const found = inForce(address.values);
  if (!found.length) return null;
  return html`<ul class="in-force" aria-label="Filters in force">
    ${found.map(
      ({ name, text }) => html`<li key=${name}><button type="button" class="chip"
        title=${name === "as_of" ? "Back to now" : "Take it off"}
        onClick=${() => go({ values: { [name]: null } })}>${text} <span aria-hidden="true">✕</span></button></li>`,
    )}
  </ul>`;
}

/** `without` is the name of a filter that the view has a field of its own for. */
export function Filters({ without }) {
  const { address, go } = useStudio();
  const filters = FILTERS.filter(({ name }) => name !== without);
  const number = inForce({ ...address.values, as_of: null, [without]: null }).length;
  const set = (name, value) => go({ values: { [name]: value } });
  return html`<details class="filters">
    <summary>Filters${number > 0 && html` <span class="chip">${number}</span>`}</summary>
    <div class="fields">
      ${filters.map(
        (one) => html`<${Filter} key=${one.name} ...${one} value=${address.values[one.name]} set=${set} />`,
      )}
      <label class="field">Teams <small>besides the owner</small>
        <${Input} value=${address.values.teams ?? ""} placeholder="red, blue"
          onChange=${(event) => set("teams", event.target.value.trim())} />
      </label>
      <label class="check"><input type="checkbox" checked=${Boolean(address.values.inactive)}
        onChange=${(event) => set("inactive", event.target.checked ? "1" : null)} />
        also what is inactive or not valid</label>
    </div>
  </details>`;
}

function Filter({ name, label, isList, isDate, isNumber, isJson, example, value, set }) {
  const change = ({ target }) => {
    const text = target.value.trim();
    target.setCustomValidity(isJson && text && !isJsonObject(text) ? `Write a JSON object, such as ${example}` : "");
    if (target.reportValidity()) set(name, isDate ? fromInput(text) : text);
  };
  const type = isDate ? "datetime-local" : isNumber ? "number" : "text";
  return html`<label class="field">${label}
    <${Input} type=${type} min="0" max="1" step="any" value=${isDate ? toInput(value) : value ?? ""}
      placeholder=${example ?? (isList ? "one, another" : "")} onChange=${change} />
  </label>`;
}
