/** Weights of signals as shares of 1. Each function returns new shares. */

const UNIT = 100_000;

export function sharesOf(profile) {
  return Object.fromEntries(
    Object.entries(profile.signals).map(([name, signal]) => [name, signal.weight]),
  );
}

/** One signal gets this share, and the others keep their proportions in what is left. */
export function withShare(shares, name, share, fallback) {
  const others = Object.keys(shares).filter((one) => one !== name);
  const total = sum(others.map((one) => shares[one]));
  // Where the others have nothing, they take what is left as they stood in the profile.
  const base = total > 0 ? shares : evenIfEmpty(fallback, others);
  const of = total > 0 ? total : sum(others.map((one) => base[one]));
  const changed = { ...shares, [name]: others.length ? share : 1 };
  for (const one of others) changed[one] = ((1 - share) * base[one]) / of;
  return changed;
}

function evenIfEmpty(shares, names) {
  if (names.some((name) => shares[name] > 0)) return shares;
  return Object.fromEntries(names.map((name) => [name, 1]));
}

/** The shares of some signals go to the others, in proportion; if these have none, all stay. */
export function redistributed(shares, names) {
  const others = Object.keys(shares).filter((one) => !names.includes(one));
  const total = sum(others.map((one) => shares[one]));
  if (!total || !names.some((name) => shares[name] > 0)) return shares;
  return Object.fromEntries(
    Object.keys(shares).map((one) => [one, others.includes(one) ? shares[one] / total : 0]),
  );
}

export function sameShares(one, other) {
  return Object.keys(one).every((name) => Math.abs(one[name] - (other[name] ?? 0)) < 1e-9);
}

/**
 * Short enough for an address and a file, and still a sum of 1: the largest takes what rounding
 * left. Small weights need the digits, or they would be lost as a slider goes up and down.
 */
export function rounded(shares) {
  const parts = Object.entries(shares).map(([name, share]) => [name, Math.round(share * UNIT)]);
  const largest = parts.reduce((best, one) => (one[1] > best[1] ? one : best));
  largest[1] += UNIT - sum(parts.map(([, number]) => number));
  return Object.fromEntries(parts.map(([name, number]) => [name, number / UNIT]));
}

export function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
