/** The hook that asks the service for candidates, and no oftener than it has to. */
import { useEffect, useMemo, useRef, useState } from "../html.js";
import { named } from "../core/profile.js";
import { hitsIn, questionIn } from "../core/question.js";
import { withBest } from "../core/rank.js";
import { adjusted } from "../core/setting.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";

const ENOUGH = 60; // by each signal: sliders can move some way before the service is asked again

/**
 * Candidates of the question in the address by a profile: the hits first, which the service has
 * sooner, and then those by each signal, which serve for every setting. A new question or profile
 * is asked with the setting of that moment; the hits of another setting by `ask(setting)` alone.
 */
export function useCandidates(profile, setting) {
  const { owner, address, session } = useStudio();
  const k = hitsIn(address.values);
  const question = questionIn(address.values, session.embedder);
  const subject = JSON.stringify([owner, question, k]);
  const [wanted, setWanted] = useState({ subject, profile, setting });
  const [attempt, setAttempt] = useState(0);
  const ask = (one) => setWanted({ subject, profile, setting: one });
  useEffect(() => ask(setting), [subject, profile]);

  const asked = wanted.subject === subject && wanted.profile === profile ? wanted.setting : setting;
  const load = (n, bySignal) => async (signal) => {
    const began = performance.now();
    const body = { ...question, profile: named(adjusted(profile, asked)), n, by_signal: bySignal };
    const found = await service.candidates(owner, body, signal);
    return { ...found, subject, asked, askedOf: profile, milliseconds: performance.now() - began };
  };
  const isOfNow = (found) => found?.subject === subject && found.askedOf === profile;
  const inputs = [subject, profile, attempt];
  const best = useAnswer(address.values.q ? load(k, false) : null, [...inputs, JSON.stringify(asked)]);
  /** False while what was asked last is on its way, and candidates of before are still there. */
  const isCurrent = isOfNow(best.value);
  const all = useAnswer(isCurrent ? load(Math.max(k, ENOUGH), true) : null, [...inputs, isCurrent]);

  const last = useRef(null);
  const candidates = useMemo(() => {
    if (!isCurrent) return best.value && last.current;
    return isOfNow(all.value) ? withBest(all.value, best.value) : best.value;
  }, [all.value, best.value, isCurrent]);
  last.current = candidates;
  const error = best.error ?? all.error;
  const isLoading = best.isLoading || all.isLoading;
  return { candidates, isCurrent, k, ask, error, isLoading, retry: () => setAttempt(attempt + 1) };
}
