/** What differs between two orders of the same memories. */
import { nameOf } from "./signals.js";
import { signed } from "./format.js";

const LEAST_DIFFERENCE = 0.005; // what rounds to .00 is no reason

/** Each memory of either list with its two places from 1 (null: not in it), best first. */
export function places(left, right, k) {
  const found = new Map();
  const note = (hits, side) =>
    hits.slice(0, k).forEach((hit, at) => {
      const entry = found.get(hit.id) ?? { id: hit.id, left: null, right: null };
      entry[side] = { place: at + 1, hit };
      found.set(hit.id, entry);
    });
  note(left, "left");
  note(right, "right");
  return [...found.values()];
}

/** "rose by 4: keyword +.12, recency −.05", from the left order to the right one. */
export function sentence(left, right, k) {
  return `${movement(left?.place ?? null, right?.place ?? null, k)}${reasons(left?.hit, right?.hit)}`;
}

function movement(before, after, k) {
  if (before === null) return `enters the first ${k}, at ${after}`;
  if (after === null) return `leaves the first ${k}`;
  if (before === after) return "stays";
  const by = Math.abs(before - after);
  return `${after < before ? "rose" : "fell"} by ${by}`;
}

function reasons(before, after) {
  if (!before || !after) return "";
  const differences = Object.keys({ ...before.contributions, ...after.contributions })
    .map((name) => [name, (after.contributions[name] ?? 0) - (before.contributions[name] ?? 0)])
    .filter(([, difference]) => Math.abs(difference) >= LEAST_DIFFERENCE)
    .sort(([, one], [, other]) => Math.abs(other) - Math.abs(one))
    .slice(0, 3)
    .map(([name, difference]) => `${nameOf(name)} ${signed(difference)}`);
  return differences.length ? `: ${differences.join(", ")}` : "";
}
