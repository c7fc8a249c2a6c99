/** Texts of memories. They are hostile: only text nodes, never HTML. */
import { html } from "../html.js";
import { marked } from "../core/words.js";

export function Marked({ text, terms = [] }) {
  return marked(text, terms).map(({ text: part, isMatch }) => (isMatch ? html`<mark>${part}</mark>` : part));
}

const LONGEST = 90;

/** The beginning of a text, for a list or a sentence. */
export function brief(text, longest = LONGEST) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${line.slice(0, longest).replace(/\s+\S*$/, "")} …`;
}
