/**
 * Ranks candidates in the browser, and says whether the order is exact.
 *
 * The service sends the memories that have more of a signal than the n-th, and this n-th greatest
 * value. A memory that it did not send has at most the n-th value of each signal, so it scores at
 * most Σ weight · n-th. What scores more than that bound is in its right place, whatever the
 * weights are. No DOM here: tests import this module alone.
 */
import { recencyAt } from "./curve.js";
import { redistributed } from "./shares.js";

const CLOSE = 1e-12; // a score has to exceed the bound by this much, since sums are rounded

/**
 * @param candidates the answer to POST /candidates
 * @param setting {shares: weights by signal that sum to 1, halfLife: days, or null as it was}
 * @returns {hits: best first, bound, exact(k): whether the first k are right}
 */
export function rank(candidates, { shares, halfLife = null }) {
  const weights = weightsInEffect(candidates, shares);
  const hits = candidates.memories.map((one) => scored(one, candidates.profile, weights, halfLife));
  hits.sort(byScore);
  const bound = boundOfUnseen(candidates, weights, halfLife);
  return { hits, weights, bound, exact: (k) => isExact(hits, bound, k) };
}

/** Candidates by each signal together with the best by another setting, as what that one found. */
export function withBest(all, best) {
  const sent = new Set(all.memories.map(({ memory }) => memory.id));
  const more = best.memories.filter(({ memory }) => !sent.has(memory.id));
  const { signals, decay, total, memories } = all;
  return { ...best, signals, decay, total, memories: [...memories, ...more] };
}

/** The weights after the profile has given those of silent signals to the others. */
function weightsInEffect(candidates, shares) {
  return candidates.profile.redistribute ? redistributed(shares, silent(candidates)) : shares;
}

/** Signals that this query has no value for, such as time where it names no date. */
export function silent(candidates) {
  return Object.keys(candidates.signals).filter((name) => !candidates.signals[name].has_value);
}

function scored(candidate, profile, weights, halfLife) {
  const values = valuesAt(candidate, profile, halfLife);
  const left = values.decay ?? 1;
  const contributions = {};
  let score = 0;
  for (const name in weights) {
    contributions[name] = weights[name] * (values[name] ?? 0) * left;
    score += contributions[name];
  }
  return { id: candidate.memory.id, candidate, values, contributions, score };
}

/** The values of a candidate's signals, as they are with this half-life. */
function valuesAt(candidate, profile, halfLife) {
  if (halfLife === null) return candidate.signals;
  const { recency } = profile.signals;
  if (recency) {
    return { ...candidate.signals, recency: recencyAt(recency, candidate.age_days.recency, halfLife) };
  }
  return { ...candidate.signals, decay: factor(profile.decay, candidate.age_days.decay, halfLife) };
}

function factor(decay, days, halfLife) {
  const floor = decay.floor ?? 0;
  return floor + (1 - floor) * recencyAt(decay, days ?? null, halfLife);
}

/** Greatest score first; equal ones by id, as the service orders them. */
function byScore(one, other) {
  return other.score - one.score || (one.id < other.id ? -1 : 1);
}

/** The most that a memory can score that the service did not send; -Infinity if it sent all. */
function boundOfUnseen(candidates, weights, halfLife) {
  const { memories, total } = candidates;
  if (total !== null && memories.length >= total) return -Infinity;
  let bound = 0;
  for (const name in weights) {
    if (weights[name]) bound += weights[name] * nthValue(candidates, name, halfLife);
  }
  return bound * factorOfUnseen(candidates, halfLife);
}

/** The greatest factor of a decay that a memory can have that the service did not send. */
function factorOfUnseen({ profile, decay }, halfLife) {
  if (!decay) return 1;
  const isChanged = halfLife !== null && !profile.signals.recency;
  return isChanged ? factor(profile.decay, decay.nth_age_days, halfLife) : decay.nth ?? 1;
}

function nthValue(candidates, name, halfLife) {
  const signal = candidates.signals[name];
  if (name !== "recency" || halfLife === null) return signal.nth ?? 0;
  return newestPossible(candidates.profile.signals.recency, signal.nth_age_days, halfLife);
}

/** A memory of unknown age may be among those not sent, and counts as `unknown`. */
function newestPossible(recency, days, halfLife) {
  return Math.max(recencyAt(recency, days, halfLife), recencyAt(recency, null, halfLife));
}

function isExact(hits, bound, k) {
  const last = hits[Math.min(k, hits.length) - 1];
  return bound === -Infinity || (hits.length >= k && last.score > bound + CLOSE);
}
