/** Finds the words of a text that a question has, so that they can be marked. */

const SHORTEST_STEM = 3;
const LONGEST_ENDING = 5;

/** A word without case and accents. */
function plain(word) {
  return word.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
}

/**
 * True if the database may have made this stem of the word: "renew" of "renewal", "happi" of
 * "happy". Good enough to mark a word; what matched is decided by the database.
 */
function isOf(word, stem) {
  if (word === stem) return true;
  const beginning = stem.replace(/[ieys]$/, "");
  const ending = word.length - beginning.length;
  return beginning.length >= SHORTEST_STEM && ending <= LONGEST_ENDING && word.startsWith(beginning);
}

/** The text in parts, {text, isMatch}. Joined, they are the text again. */
export function marked(text, terms) {
  const stems = terms.map(plain);
  if (!stems.length) return [{ text, isMatch: false }];
  return text
    .split(/([\p{L}\p{N}_]+)/u)
    .filter(Boolean)
    .map((part) => ({ text: part, isMatch: stems.some((stem) => isOf(plain(part), stem)) }));
}
