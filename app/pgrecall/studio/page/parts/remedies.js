/** The weights that would bring a memory in, and the weights that differ from the profile's. */
import { html, useMemo } from "../html.js";
import { sharesAsValues, write, writeMemory } from "../core/address.js";
import { halfLife, share } from "../core/format.js";
import { named } from "../core/profile.js";
import { MOST_HITS, questionIn } from "../core/question.js";
import { silent } from "../core/rank.js";
import { remedies } from "../core/remedy.js";
import { asValues, own } from "../core/setting.js";
import { sharesOf } from "../core/shares.js";
import { nameOf } from "../core/signals.js";
import * as service from "../service/memories.js";
import { useAnswer, useStudio } from "./hooks.js";
import { Obstacle } from "./obstacle.js";

const EITHER = new Intl.ListFormat("en", { type: "disjunction" });
const MANY = 200; // by each signal: the more, the more often a place is exact

/** An answer with `value`, {ways, useless, mute}; none where `found`, the explanation of this memory, is null. */
export function useAdvice(found, profile, id) {
  const { owner, address, session } = useStudio();
  const body = { ...questionIn(address.values, session.embedder), profile: named(profile), n: MANY };
  const load = found && ((signal) => service.candidates(owner, body, signal));
  const { value: candidates, error } = useAnswer(load, [owner, JSON.stringify(body), !found]);
  const value = useMemo(() => found && candidates && advised(candidates, found, profile, id), [candidates, found, id]);
  return { value, error };
}

function advised(candidates, { k, signals }, profile, id) {
  const all = remedies(candidates, { id, signals }, sharesOf(profile), k);
  const useless = all.filter(({ shares }) => !shares).map(({ signal }) => signal);
  return { ways: all.filter(({ shares }) => shares), useless, mute: silent(candidates) };
}

/** `found` is the explanation of the memory with this id. */
export function Remedies({ found, profile, id, advice }) {
  const { address } = useStudio();
  if (advice.error) return html`<${Obstacle} problem=${advice.error} />`;
  if (!advice.value) return html`<p class="loading">Looking for weights …</p>`;
  const { ways, useless, mute } = advice.value;
  const names = (signals) => EITHER.format(signals.map(nameOf));
  const more = write({ view: "ask", values: { ...address.values, k: found.rank, sought: id } });
  return html`<h3>What would have to change</h3>
    <ul class="reasons">
      ${ways.map((one) => html`<${Remedy} key=${one.signal} one=${one} was=${sharesOf(profile)} id=${id} />`)}
      ${useless.length > 0 && html`<li>No weight of ${names(useless)} alone brings it in.</li>`}
      ${mute.length > 0 && html`<li>The question does not ask for ${names(mute)}: no such weight moves it.</li>`}
    </ul>
    ${!ways.length && html`<p>
      ${found.rank <= MOST_HITS && html`Ask for ${found.rank} hits: <a href=${more}>Try it</a>. Or ask`}
      ${found.rank > MOST_HITS && "Ask"} in its words.</p>`}`;
}

function Remedy({ one: { signal, share: needed, shares, place, isExact }, was, id }) {
  const { address } = useStudio();
  const href = write({ view: "ask", values: { ...address.values, ...sharesAsValues(shares), sought: id } });
  return html`<li>
    ${nameOf(signal)} at ${share(needed, 3)} in place of ${share(was[signal], 3)} makes it
    ${isExact ? "" : " about"} hit ${place}. <a href=${href}>Try it</a>
  </li>`;
}

/** Says which weights are not those of the profile, and takes them back. */
export function Adjusted({ base, profile }) {
  const { address } = useStudio();
  if (base === profile) return null;
  const [before, after] = [sharesOf(base), sharesOf(profile)];
  const differs = Object.keys(after).filter((name) => share(before[name], 3) !== share(after[name], 3));
  const weights = differs.map((name) => `${nameOf(name)} ${share(before[name], 3)} → ${share(after[name], 3)}`);
  const days = Number(address.values.half_life);
  const all = days ? [...weights, `half-life ${halfLife(days)}`] : weights;
  const reset = write({ ...address, values: { ...address.values, ...asValues(own(base), base) } });
  return html`<p class="note">The weights are adjusted: ${all.join(", ")}.
    ${" "}<a href=${reset}>Reset</a></p>`;
}

/** Where the memory that somebody seeks stands among the hits. */
export function Sought({ ranking }) {
  const { owner, address, go } = useStudio();
  const id = address.values.sought;
  if (!id) return null;
  const { candidates, ranked, k } = ranking;
  const place = ranked.hits.findIndex((hit) => hit.id === id) + 1;
  const href = place
    ? writeMemory(ranked.hits[place - 1].candidate.memory, owner, address.values)
    : write({ view: "memory", id, values: address.values });
  const isExact = ranking.isExact && (place <= k || ranked.exact(place));
  const of = place ? `${isExact ? "" : "about "}number ${place}` : `behind the ${candidates.memories.length} best`;
  const is = place && place <= k ? `is ${isExact ? "" : "about "}hit ${place}` : `is not among the hits: it is ${of}`;
  return html`<p class="note" role="status">
    The memory that you seek, <a href=${href}>
      <code>${id.slice(0, 8)}</code></a>, ${is}.
    ${" "}<button type="button" onClick=${() => go({ values: { sought: null } })}>Stop following it</button>
  </p>`;
}
