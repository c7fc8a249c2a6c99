/**
 * A setting of sliders: {shares: weights by signal that sum to 1, halfLife: days, or null where it
 * is the profile's own}.
 */
import { numberIn, sharesAsValues, sharesIn } from "./address.js";
import { changed } from "./profile.js";
import { rounded, sameShares, sharesOf } from "./shares.js";

/** The setting that changes nothing. */
export function own(profile) {
  return { shares: sharesOf(profile), halfLife: null };
}

/** The setting that the values of an address describe. */
export function settingIn(values, profile) {
  const shares = sharesIn(values);
  const fits = shares && sameNames(shares, profile.signals);
  // In the order of the profile, whatever that of the address is.
  return { shares: fits ? rounded({ ...sharesOf(profile), ...shares }) : sharesOf(profile), halfLife: numberIn(values, "half_life", null) };
}

/** Values for an address; those of the profile's own setting are empty. */
export function asValues({ shares, halfLife }, profile) {
  const none = Object.fromEntries(Object.keys(shares).map((name) => [`w.${name}`, null]));
  const isOwn = sameShares(shares, sharesOf(profile));
  return { ...none, ...(isOwn ? {} : sharesAsValues(shares)), half_life: halfLife };
}

export function isSame(one, other) {
  const [shares, others] = [one.shares, other.shares];
  return one.halfLife === other.halfLife && sameNames(shares, others) && sameShares(shares, others);
}

/** The profile with this setting, named so: itself where that changes nothing. */
export function adjusted(profile, setting) {
  if (isSame(setting, own(profile))) return profile;
  return changed(profile, { ...setting, name: `${profile.name}_adjusted` });
}

function sameNames(one, other) {
  return Object.keys(one).sort().join() === Object.keys(other).sort().join();
}
