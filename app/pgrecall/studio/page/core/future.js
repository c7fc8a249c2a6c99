/** What becomes of a memory's score as it ages, if nothing else changes. */
import { decayingPart, halfLifeFor, recencyAt } from "./curve.js";
import { ageInDays } from "./format.js";
import { sum } from "./shares.js";

const HOURS = 24;
const TRUST_HALF_LIFE = 168; // hours, where the memory names none
const CLOCKS = {
  created_at: (memory) => memory.created_at,
  last_accessed_at: (memory) => memory.last_accessed_at ?? memory.created_at,
  latest: (memory) => [memory.created_at, memory.last_accessed_at].filter(Boolean).sort().at(-1) ?? null,
};

/** Recency of a memory after some days from `now`. */
function recencyAfter(recency, memory, days, now) {
  const age = ageInDays(CLOCKS[recency.clock ?? "created_at"](memory), now);
  return recencyAt(recency, age === null ? null : age + days, halfLifeFor(recency, memory));
}

/**
 * A function from days to what the score is then. Without a question, there is no score: then it
 * is that of what decays alone.
 *
 * @param account the signals of an explanation, {signal, value, weight}, or null
 */
export function ageing(profile, memory, account, now) {
  const { recency } = profile.signals;
  if (!account) {
    const part = decayingPart(profile);
    return part && ((days) => recencyAfter(part, memory, days, now));
  }
  const later = {
    recency: (days) => recencyAfter(recency, memory, days, now),
    trust: profile.signals.trust?.decay === false ? null : (days) => trustAfter(memory, days, now),
  };
  return (days) => {
    const parts = account.filter((one) => one.weight !== undefined); // the others are factors
    const products = parts.map(({ signal, value, weight }) => weight * (later[signal]?.(days) ?? value));
    return sum(products) * factorAfter(profile.decay, memory, days, now);
  };
}

function factorAfter(decay, memory, days, now) {
  if (!decay) return 1;
  const floor = decay.floor ?? 0;
  return floor + (1 - floor) * recencyAfter(decay, memory, days, now);
}

/** Trust fades from the last use on, by the memory's own curve; unused trust stays. */
function trustAfter(memory, days, now) {
  if (memory.trust === null || !memory.last_accessed_at) return null;
  const hours = ageInDays(memory.last_accessed_at, now) * HOURS + days * HOURS;
  const curve = memory.trust_curve ?? "hyperbolic";
  return memory.trust * recencyAt({ curve }, hours, memory.trust_half_life_hours ?? TRUST_HALF_LIFE);
}
