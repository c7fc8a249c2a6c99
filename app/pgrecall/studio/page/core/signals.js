/** The names of signals as people say them, and the class that has their colour. */

const SIGNALS = {
  similarity: ["meaning", "How near the memory's meaning is to the question's."],
  keyword: ["words", "The share of the question's words that the memory has."],
  time: ["date", "How near the memory's time is to the date in the question."],
  entity_overlap: ["names", "The share of the names in the question that the memory has."],
  recency: ["recency", "How new the memory is."],
  usefulness: ["usefulness", "What feedback said of it."],
  importance: ["importance", "What was set when it was stored."],
  confidence: ["confidence", "How sure its extraction was."],
  frequency: ["frequency", "How often it was found."],
  trust: ["trust", "How far its source and its use can be trusted."],
  taste: ["taste", "How near it is to memories that did well."],
  decay: ["age factor", "The share of the score that age leaves."],
};
const OWN = 4; // colours of signals that people define themselves

export function nameOf(signal) {
  return SIGNALS[signal]?.[0] ?? signal.replaceAll("_", " ");
}

export function meaningOf(signal) {
  return SIGNALS[signal]?.[1] ?? "A number of your own.";
}

/** One colour for each signal, in every view; those of one's own share four by their names. */
export function colourOf(signal) {
  if (signal in SIGNALS) return `signal-${signal}`;
  const number = [...signal].reduce((total, letter) => total + letter.charCodeAt(0), 0);
  return `signal-own-${number % OWN}`;
}
