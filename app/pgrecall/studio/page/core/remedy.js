/** What would have to change for a memory to come among the first k. */
import { FILTERS } from "./question.js";
import { sum } from "./shares.js";

const HIGHEST = 0.95; // a profile of nearly one signal is no advice

/**
 * For each signal in which the memory is ahead of the last hit, the least share of that signal at
 * which it passes it, smallest change first: [{signal, share}]. The other weights keep their
 * proportions, as when a slider moves. Other memories move, too, so this is where to begin.
 */
export function remedies(account) {
  const parts = account.filter((one) => one.weight !== undefined && one.behind !== null);
  return parts
    .map((part) => ({ signal: part.signal, share: shareNeeded(part, parts), by: part.weight }))
    .filter(({ share }) => share !== null && share < HIGHEST)
    .sort((one, other) => one.share - one.by - (other.share - other.by))
    .map(({ signal, share }) => ({ signal, share }));
}

/** Its score is s · value + (1 - s) · rest, where s is the share; so is that of the last hit. */
function shareNeeded(part, parts) {
  if (!part.weight || part.weight >= 1) return null;
  const ahead = -part.behind / part.weight;
  const others = parts.filter((one) => one !== part);
  const restBehind = sum(others.map((one) => one.behind)) / (1 - part.weight);
  if (ahead <= 0 || restBehind <= 0) return null;
  return Math.ceil((1000 * restBehind) / (restBehind + ahead) + 1) / 1000;
}

/** The filters of the address that keep it away, by the reasons of an explanation. */
export function filtersInTheWay(reasons) {
  return FILTERS.filter(({ argument }) => reasons.some((reason) => reason.startsWith(`filtered by ${argument}:`)));
}

/** True if it is kept away since it is not valid: invalidated, expired, or not yet valid. */
export function isNotValid(reasons) {
  return reasons.some((reason) => reason.startsWith("not valid at"));
}
