/** What would have to change for a memory to come among the first k. */
import { filtersSet } from "./question.js";
import { rank, silent } from "./rank.js";
import { rounded, sum, withShare } from "./shares.js";

const STEPS = 200; // of a slider of weights
const MANY = 100; // with so many candidates, every step is looked at; with twice as many, every second

/**
 * For each signal that the question asks for, the weight next to its own, higher or lower, at which
 * the sought memory is among the first k: [{signal, share, shares, place, isExact}], the smallest
 * change first; `shares` is null where no weight of that signal alone brings it in. Each weight is
 * ranked as the page will rank it. Signals that the question does not ask for keep their weights.
 *
 * @param candidates the answer to POST /candidates
 * @param sought {id, signals}: the memory and its values, which need not be among the candidates
 */
export function remedies(candidates, sought, shares, k) {
  const all = including(candidates, sought);
  const asked = Object.keys(shares).filter((name) => !silent(candidates).includes(name));
  const found = asked.map((signal) => ({ signal, ...nextShare(all, sought.id, { shares, asked, signal, k }) }));
  return found.sort((one, other) => changeOf(one, shares) - changeOf(other, shares));
}

function changeOf({ signal, share }, shares) {
  return share === undefined ? Infinity : Math.abs(share - shares[signal]);
}

function including(candidates, { id, signals }) {
  if (candidates.memories.some(({ memory }) => memory.id === id)) return candidates;
  const one = { memory: { id }, signals, age_days: {} };
  return { ...candidates, memories: [...candidates.memories, one], total: candidates.total + 1 };
}

function nextShare(candidates, id, { shares, asked, signal, k }) {
  const total = sum(asked.map((name) => shares[name]));
  const at = (step) => standing(candidates, id, amongAsked(shares, { asked, total, signal, share: step / STEPS }));
  const isIn = (step) => at(step).place <= k;
  const wide = Math.max(1, Math.round(candidates.memories.length / MANY));
  const [below, above] = [Math.ceil(shares[signal] * STEPS - 1e-9), Math.floor(shares[signal] * STEPS + 1e-9)];
  const [lower, higher] = [firstStep(isIn, below, 0, wide), firstStep(isIn, above, Math.floor(total * STEPS + 1e-9), wide)];
  const steps = [lower, higher].filter((step) => step !== null);
  if (!steps.length) return { shares: null };
  const away = (step) => Math.abs(step / STEPS - shares[signal]);
  const step = steps.reduce((best, one) => (away(one) < away(best) ? one : best));
  return { share: step / STEPS, ...at(step) };
}

/** Others rise and fall, too: so it looks from `out` towards `last`, then between two steps; null if none is in. */
function firstStep(isIn, out, last, wide) {
  const way = Math.sign(last - out);
  let step = out;
  do {
    if (step === last) return null;
    out = step;
    step = way * Math.min(way * last, way * step + wide);
  } while (!isIn(step));
  while (Math.abs(step - out) > 1) {
    const middle = Math.trunc((out + step) / 2);
    if (isIn(middle)) step = middle;
    else out = middle;
  }
  return step;
}

function amongAsked(shares, { asked, total, signal, share }) {
  const parts = Object.fromEntries(asked.map((name) => [name, shares[name] / total]));
  const moved = withShare(parts, signal, share / total, parts);
  return rounded({ ...shares, ...Object.fromEntries(asked.map((name) => [name, moved[name] * total])) });
}

function standing(candidates, id, shares) {
  const ranked = rank(candidates, { shares });
  const place = ranked.hits.findIndex((hit) => hit.id === id) + 1;
  return { shares, place, isExact: ranked.exact(place) };
}

/** The filters of the address that keep it away, by the reasons of an explanation; the others are of JSON. */
export function filtersInTheWay(values, reasons) {
  const set = filtersSet(values);
  const said = ({ key, operator }) => `filtered by '${key}', which requires {'${operator}'`;
  const isOfOne = (reason) => set.some((one) => reason.startsWith(said(one)));
  const isOfJson = (reason) => reason.startsWith("filtered by ") && !isOfOne(reason);
  return set.filter((one) => reasons.some(one.isJson ? isOfJson : (reason) => reason.startsWith(said(one))));
}

/** True if it is kept away since it is not valid: invalidated, expired, or not yet valid. */
export function isNotValid(reasons) {
  return reasons.some((reason) => reason.startsWith("not valid at"));
}
