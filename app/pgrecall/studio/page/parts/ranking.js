/** The hooks behind every view that ranks: candidates of the service, ranked here by a setting. */
import { useCallback, useEffect, useMemo, useState } from "../html.js";
import { rank, silent } from "../core/rank.js";
import { asValues, isSame, own, settingIn } from "../core/setting.js";
import { rounded } from "../core/shares.js";
import { useCandidates } from "./candidates.js";
import { useSettled, useStudio } from "./hooks.js";

const WAIT_TO_ASK = 80; // milliseconds without a move
const WAIT_TO_WRITE = 300; // browsers limit how often an address may change

/** The ranking by the profile of this name, as it is. */
export function useRanking(name) {
  const base = useProfile(name);
  return useRankingBy(base, useMemo(() => own(base), [base]));
}

/** The ranking by the profile and the sliders of the address; `change` moves a slider, `write` keeps it. */
export function useAdjustedRanking() {
  const { address, go } = useStudio();
  const base = useProfile(address.values.profile);
  const inAddress = JSON.stringify(settingIn(address.values, base));
  const written = useMemo(() => JSON.parse(inAddress), [inAddress]);
  const [moving, setMoving] = useState(null); // ahead of the address while a slider moves
  useEffect(() => setMoving(null), [base, inAddress]);
  const setting = moving ?? written;

  const settled = useSettled(moving, WAIT_TO_WRITE);
  /** Whoever leaves a slider may follow a link at once, which takes along what is in the address. */
  const write = () => moving && go({ values: asValues(moving, base) }, { replace: true });
  useEffect(() => {
    if (settled === moving) write();
  }, [settled]);

  const change = useCallback(({ shares, halfLife }) => setMoving({ shares: rounded(shares), halfLife }), []);
  const reset = () => go({ values: asValues(own(base), base) });
  return { ...useRankingBy(base, setting), setting, change, write, reset };
}

/** The profile of this name, or else the default one. */
export function useProfile(name) {
  const { profiles, defaultProfile } = useStudio();
  return profiles.find((one) => one.name === name) ?? profiles.find((one) => one.name === defaultProfile);
}

function useRankingBy(base, setting) {
  const { candidates, isCurrent, k, ask, ...state } = useCandidates(base, setting);
  // The last candidates stay as they were until those of another profile or question are there.
  const shown = isCurrent ? setting : candidates?.asked;
  const ranked = useMemo(() => candidates && rank(candidates, shown), [candidates, shown]);
  const isAsked = isCurrent && isSame(candidates.asked, setting);
  const isExact = isAsked || (isCurrent && ranked.exact(k));

  const isNeeded = useSettled(setting, WAIT_TO_ASK) === setting && isCurrent && !isExact;
  useEffect(() => {
    if (isNeeded) ask(setting);
  }, [isNeeded, setting]);
  const asProfileHasIt = useMemo(() => candidates && rank(candidates, own(candidates.askedOf)), [candidates]);
  const mute = candidates ? silent(candidates) : [];
  const isChanged = !isSame(setting, own(base));
  const name = `${base.name}${isChanged ? ", adjusted" : ""}`;
  return {
    ...state, base, name, isChanged, k, candidates, isCurrent, ranked, isExact, asProfileHasIt, silent: mute,
  };
}
