/** The names of signals, what each means, and its colour. */

const SIGNALS = {
  similarity: "How near the memory's meaning is to the question's.",
  keyword: "The share of the question's words that the memory has.",
  time: "How near the memory's time is to the date in the question.",
  entity_overlap: "The share of the names in the question that the memory has.",
  recency: "How new the memory is.",
  usefulness: "What feedback said of it.",
  importance: "What was set when it was stored.",
  confidence: "How sure its extraction was.",
  frequency: "How often it was found.",
  trust: "How far its source and its use can be trusted.",
  decay: "The share of the score that age leaves.",
};
const OWN = 4; // colours of signals that people define themselves

/** The name that profiles, TOML and psql have, with spaces. */
export function nameOf(signal) {
  return signal.replaceAll("_", " ");
}

export function meaningOf(signal) {
  return Object.hasOwn(SIGNALS, signal) ? SIGNALS[signal] : "A number of your own.";
}

/** One colour for each signal, in every view; those of one's own share four by their names. */
export function colourOf(signal) {
  if (Object.hasOwn(SIGNALS, signal)) return `var(--signal-${signal})`;
  const number = [...signal].reduce((total, letter) => total + letter.charCodeAt(0), 0);
  return `var(--signal-own-${number % OWN})`;
}
