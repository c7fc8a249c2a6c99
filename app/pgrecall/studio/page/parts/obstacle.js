/** What stands in the way, and what to do about it. */
import { html, useState } from "../html.js";
import { useStudio } from "./hooks.js";
import { keep, key } from "../service/key.js";

const OF_EMBEDDER = /EmbedderMismatch|EmbeddingFailed|ExtraMissing/;

/** `retry` is called once there is something new to try. */
export function Obstacle({ problem, retry }) {
  if (problem.status === 0) return html`<${Gone} retry=${retry} />`;
  if (problem.status === 401) return html`<${NoKey} retry=${retry} />`;
  if (problem.status === 403) {
    return html`<${Screen} title="This key may not do that" text=${problem.message}
      todo="Use a key that is for this owner and has the scope:"
      command="pgrecall keys create --owner NAME --scope write">
      <${KeyForm} retry=${retry} />
    <//>`;
  }
  if (OF_EMBEDDER.test(problem.kind)) {
    return html`<${Screen} title="Questions cannot be embedded" text=${problem.message}
      todo="Start the service with the embedder that the memories have (--embedder), or install the local one:"
      command='pip install "pgrecall[local]"' />`;
  }
  return html`<div class="problem" role="alert">
    <p>${problem.message}</p>
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`;
}

/** Not in the way, but worth knowing: without an embedder, a question is only words. */
export function NoEmbedder() {
  const { session } = useStudio();
  if (session.embedder) return null;
  return html`<p class="note">
    This service has no embedder: questions are compared by keyword and time, not by similarity. For that, start it
    with the one that the memories have (<code>--embedder</code>), or install the local one:
    ${" "}<code>pip install "pgrecall[local]"</code>.
  </p>`;
}

function Screen({ title, text, todo, command, children }) {
  return html`<section class="screen" role="alert">
    <h2>${title}</h2>
    <p>${text}</p>
    <p>${todo}</p>
    ${command && html`<pre tabindex="0"><code>${command}</code></pre>`}
    ${children}
  </section>`;
}

function Gone({ retry }) {
  return html`<${Screen} title="The service does not answer"
    text="It was stopped, or this machine cannot reach it. What you see here was read before."
    todo="Start it again. A new studio has a new key, so open the address that it prints." command="pgrecall studio">
    <button type="button" class="main" onClick=${retry}>Try again</button>
  <//>`;
}

/** A part of the page that is loaded late could not be. */
export function OtherVersion() {
  return html`<${Screen} title="This part of the page did not load"
    text="The service does not answer, or it is of another version than this page."
    todo="Load the page anew.">
    <button type="button" class="main" onClick=${() => location.reload()}>Load it anew</button>
  <//>`;
}

function NoKey({ retry }) {
  const wrong = Boolean(key());
  return html`<${Screen} title=${wrong ? "This key is not valid" : "This service asks for a key"}
    text=${wrong
      ? "It was revoked, or it is of another service or of a studio that has ended."
      : "Memories are shown to whoever has a key for their owner."}
    todo="Open the address that the terminal printed. For a service, whoever runs it makes a key:"
    command="pgrecall keys create --owner NAME --scope read">
    <${KeyForm} retry=${retry} />
  <//>`;
}

export function KeyForm({ retry }) {
  const [value, setValue] = useState("");
  const use = (event) => {
    event.preventDefault();
    keep(value.trim());
    retry();
  };
  return html`<form class="key" onSubmit=${use}>
    <label for="key">Key</label>
    <input id="key" type="password" autocomplete="off" required value=${value}
      onInput=${(event) => setValue(event.target.value)} />
    <button type="submit" class="main">Use this key</button>
    <small>It stays in this tab until the tab is closed.</small>
  </form>`;
}
