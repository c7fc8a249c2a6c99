/** Finds the words of a text that a question has, so that they can be marked. */

const ENDING = /(?:ing|ed|es|ly|s|e|y|ies)$/u;

/** A word without case, accents and an English ending: good enough to mark, not to rank. */
function root(word) {
  const plain = word.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
  return plain.length > 3 ? plain.replace(ENDING, "") : plain;
}

/** The text in parts: {text, isMatch}. Joined, they are the text again. */
export function marked(text, terms) {
  const roots = new Set(terms.map(root));
  if (!roots.size) return [{ text, isMatch: false }];
  return text
    .split(/([\p{L}\p{N}_]+)/u)
    .filter(Boolean)
    .map((part) => ({ text: part, isMatch: roots.has(root(part)) }));
}
