/** What an evaluation says, in plain words. */
import { counted, share, signed } from "./format.js";

const FEWEST = 10; // with fewer questions, intervals are too narrow

/** The second profile beside the first, by nDCG. */
export function verdict({ k, profiles: [first, second] }) {
  const [mean, low, high] = second.ndcg_difference;
  const on = `on ${counted(second.queries, "question")}`;
  const zero = low <= 0 && high >= 0 ? ", which includes 0" : "";
  const both = [first, second].map((one) => `${one.profile} ${share(one.ndcg)}`).join(", ");
  const numbers = `nDCG@${k} ${both} (difference ${interval(mean, low, high)}${zero})`;
  if (second.queries < FEWEST) return `Too few to tell ${on}: ${numbers}. Judge ${FEWEST} or more.`;
  if (zero) return `No clear difference ${on}: ${numbers}.`;
  return `${second.profile} is ${low > 0 ? "better" : "worse"} than ${first.profile} ${on}: ${numbers}.`;
}

/** "+.12 [+.03, +.21]": the mean, and where the true one lies in 95 of 100 cases. */
export function interval(mean, low, high) {
  return `${signed(mean)} [${signed(low)},\u00a0${signed(high)}]`; // the brackets stay on one line
}
