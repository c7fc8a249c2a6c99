/** What an evaluation says, in plain words. */
import { counted, share, signed } from "./format.js";

const FEWEST = 10; // with fewer questions, intervals are too narrow

/** The second profile beside the first, by nDCG. */
export function verdict({ k, profiles: [first, second] }) {
  const [mean, low, high] = second.ndcg_difference;
  const on = `on ${counted(second.queries, "question")}`;
  const both = `nDCG@${k} ${share(second.ndcg)} beside ${share(first.ndcg)}`;
  const numbers = `${both}, a difference of ${interval(mean, low, high)}`;
  if (second.queries < FEWEST) {
    return `Too few to tell: ${numbers} ${on}. Judge ${FEWEST} or more.`;
  }
  if (low > 0) return `${second.profile} is better than ${first.profile}: ${numbers}, ${on}.`;
  if (high < 0) return `${second.profile} is worse than ${first.profile}: ${numbers}, ${on}.`;
  const which = `${first.profile} and ${second.profile}`;
  return `No clear difference between ${which}: ${numbers}, ${on}. The interval holds 0.`;
}

/** "+.12 [+.03, +.21]": the mean, and where the true one lies in 95 of 100 cases. */
export function interval(mean, low, high) {
  return `${signed(mean)} [${signed(low)}, ${signed(high)}]`;
}
