/** The hook that asks the service for candidates, and no oftener than it has to. */
import { useEffect, useState } from "../html.js";
import { named } from "../core/profile.js";
import { hitsIn, questionIn } from "../core/question.js";
import { adjusted } from "../core/setting.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";

const ENOUGH = 60; // by each signal: sliders can move some way before the service is asked again

/**
 * Candidates of the question in the address by a profile. A new question or profile is asked with
 * the setting of that moment; another setting of the same is asked by `ask(setting)` alone.
 */
export function useCandidates(profile, setting) {
  const { owner, address, session } = useStudio();
  const k = hitsIn(address.values);
  const question = questionIn(address.values, session.embedder);
  const subject = JSON.stringify([owner, question, k]);
  const [last, setLast] = useState({ subject, profile, setting });
  const [attempt, setAttempt] = useState(0);
  const ask = (one) => setLast({ subject, profile, setting: one });
  useEffect(() => ask(setting), [subject, profile]);

  const asked = last.subject === subject && last.profile === profile ? last.setting : setting;
  const load = async (signal, show) => {
    const began = performance.now();
    const body = { ...question, profile: named(adjusted(profile, asked)) };
    const few = await service.candidates(owner, { ...body, n: k }, signal);
    const about = { subject, asked, askedOf: profile, milliseconds: performance.now() - began };
    if (k >= ENOUGH) return { ...few, ...about };
    show({ ...few, ...about }); // they are all hits, and sooner there
    return { ...(await service.candidates(owner, { ...body, n: ENOUGH }, signal)), ...about };
  };
  const inputs = [subject, profile, JSON.stringify(asked), attempt];
  const { value: candidates, error, isLoading } = useAnswer(address.values.q ? load : null, inputs);
  /** False while what was asked last is on its way, and candidates of before are still there. */
  const isCurrent = candidates?.subject === subject && candidates.askedOf === profile;
  return { candidates, isCurrent, k, ask, error, isLoading, retry: () => setAttempt(attempt + 1) };
}
