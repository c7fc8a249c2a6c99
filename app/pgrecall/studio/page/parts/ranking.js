/** The hook behind every view that ranks: candidates of the service, ranked here by a setting. */
import { useCallback, useEffect, useMemo, useState } from "../html.js";
import { numberIn, sharesAsValues, sharesIn } from "../core/address.js";
import { changed, named } from "../core/profile.js";
import { hitsIn, questionIn } from "../core/question.js";
import { rank, silent } from "../core/rank.js";
import { rounded, sameShares, sharesOf } from "../core/shares.js";
import * as service from "../service/memories.js";
import { useAnswer, useSettled, useStudio } from "./hooks.js";

const CANDIDATES = 60; // by each signal: sliders can move some way before the service is asked
const WAIT_TO_ASK = 80; // milliseconds without a move
const WAIT_TO_WRITE = 300; // browsers limit how often an address may change

/** The ranking by the profile `name` as it is. */
export function useRanking(name) {
  const base = useBase(name);
  return useRankingBy(base, useMemo(() => own(base), [base]));
}

/** The ranking by the profile and the sliders of the address; `change` moves a slider. */
export function useAdjustedRanking() {
  const { address, go } = useStudio();
  const base = useBase(address.values.profile);
  const [moving, setMoving] = useState(null); // ahead of the address while a slider moves
  const settingInAddress = JSON.stringify([sharesIn(address.values), address.values.half_life]);
  useEffect(() => setMoving(null), [base, settingInAddress]);
  const written = useMemo(() => adjusted(base, address.values), [base, settingInAddress]);
  const setting = moving ?? written;

  const settled = useSettled(moving, WAIT_TO_WRITE);
  useEffect(() => {
    if (settled && settled === moving) go({ values: valuesOf(settled) }, { replace: true });
  }, [settled]);

  const change = useCallback(({ shares, halfLife }) => setMoving({ shares: rounded(shares), halfLife }), []);
  const reset = () => go({ values: valuesOf({ shares: own(base).shares, halfLife: null }, null) });
  const isChanged = !isSame(setting, own(base));
  return { ...useRankingBy(base, setting), setting, change, reset, isChanged };
}

function useBase(name) {
  const { profiles, defaultProfile } = useStudio();
  return profiles.find((one) => one.name === name) ?? profiles.find((one) => one.name === defaultProfile);
}

function useRankingBy(base, setting) {
  const { owner, address, session } = useStudio();
  const k = hitsIn(address.values);
  const [asked, setAsked] = useState(setting);
  const question = JSON.stringify(questionIn(address.values, session.embedder));
  const [attempt, setAttempt] = useState(0);
  const load = async (signal, show) => {
    const began = performance.now();
    const body = { ...JSON.parse(question), profile: requested(base, asked) };
    const few = await service.candidates(owner, { ...body, n: k }, signal);
    const about = { asked, milliseconds: performance.now() - began };
    if (k >= CANDIDATES) return { ...few, ...about };
    show({ ...few, ...about }); // enough for the hits, and sooner there
    return { ...(await service.candidates(owner, { ...body, n: CANDIDATES }, signal)), ...about };
  };
  const answer = useAnswer(address.values.q ? load : null, [owner, question, k, base, keyOf(asked), attempt]);
  const candidates = answer.value;
  // A profile that was just chosen has other signals than the candidates that are still shown.
  const fits = candidates && sameNames(candidates.profile.signals, setting.shares);
  const ranked = useMemo(() => (fits ? rank(candidates, setting) : null), [candidates, fits, setting]);
  const isExact = Boolean(ranked) && (isSame(candidates.asked, setting) || ranked.exact(k));

  const settled = useSettled(setting, WAIT_TO_ASK);
  const isNeeded = settled === setting && !isExact && !isSame(asked, setting);
  useEffect(() => {
    if (isNeeded) setAsked(setting);
  }, [isNeeded, setting]);
  const asProfileHasIt = useMemo(() => fits && rank(candidates, own(base)), [candidates, fits, base]);
  return {
    base, k, candidates, ranked, isExact, asProfileHasIt,
    silent: fits ? silent(candidates) : [],
    isLoading: answer.isLoading,
    error: answer.error,
    retry: () => setAttempt(attempt + 1),
  };
}

function own(base) {
  return { shares: sharesOf(base), halfLife: null };
}

function adjusted(base, values) {
  const shares = sharesIn(values);
  const fits = shares && sameNames(shares, base.signals);
  return { shares: fits ? rounded(shares) : sharesOf(base), halfLife: numberIn(values, "half_life", null) };
}

function requested(base, setting) {
  return named(isSame(setting, own(base)) ? base : changed(base, setting));
}

function valuesOf({ shares, halfLife }, weights = sharesAsValues(shares)) {
  const none = Object.fromEntries(Object.keys(shares).map((name) => [`w.${name}`, null]));
  return { ...none, ...weights, half_life: halfLife };
}

function isSame(one, other) {
  const [shares, others] = [one.shares, other.shares];
  return one.halfLife === other.halfLife && sameNames(shares, others) && sameShares(shares, others);
}

function sameNames(one, other) {
  return Object.keys(one).sort().join() === Object.keys(other).sort().join();
}

function keyOf(setting) {
  return JSON.stringify(setting);
}
