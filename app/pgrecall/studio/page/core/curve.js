/** The curves of recency: how much is left after some days. They agree with the service's. */

const CURVES = {
  exponential: (days, halfLife) => 2 ** (-days / halfLife),
  hyperbolic: (days, halfLife) => halfLife / (halfLife + days),
  linear: (days, halfLife) => Math.max(0, 1 - days / (2 * halfLife)),
};
const LONGEST_HALF_LIFE = 1e9;

/** Recency after `days`; null stands for an unknown age. */
export function recencyAt(recency, days, halfLife) {
  if (days === null || days === undefined) return recency.unknown ?? 0.5;
  return CURVES[recency.curve ?? "exponential"](Math.max(0, days), halfLife);
}

/** The half-life of a recency signal in days, where none by type or tier applies. */
export function halfLifeOf(recency) {
  if (recency.half_life !== undefined) return recency.half_life;
  return recency.rate ? Math.LN2 / recency.rate : LONGEST_HALF_LIFE;
}

/** The part of a profile that decays: its recency, or else the factor of its whole score. */
export function decayingPart(profile) {
  return profile.signals.recency ?? profile.decay ?? null;
}

/** True if some memories have a half-life of their own, so that one number does not describe all. */
export function hasSeveralHalfLives(recency) {
  return Boolean(recency.half_lives_by_type ?? recency.half_lives_by_tier);
}

/** The half-life that applies to a memory: by tier, or the shortest of its types. */
export function halfLifeFor(recency, memory) {
  const otherwise = halfLifeOf(recency);
  if (recency.half_lives_by_tier) return recency.half_lives_by_tier[memory.tier] ?? otherwise;
  const byType = new Map(Object.entries(recency.half_lives_by_type ?? {})); // a type may be called constructor
  return Math.min(...[memory.memory_type, ...memory.additional_types].map((type) => byType.get(type) ?? otherwise));
}
