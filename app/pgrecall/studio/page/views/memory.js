/** One memory: why it is where it is, what time does to it, its history, and what can be done. */
import { Fragment, html, useState } from "../html.js";
import { write } from "../core/address.js";
import { named } from "../core/profile.js";
import { hitsIn, questionIn } from "../core/question.js";
import { adjusted, settingIn } from "../core/setting.js";
import { counted, date, share, time } from "../core/format.js";
import { endOf } from "../core/validity.js";
import * as service from "../service/memories.js";
import { AgeingChart } from "../parts/ageing_chart.js";
import { AsOf } from "../parts/as_of.js";
import { Changes } from "../parts/changes.js";
import { HitCount, ProfileChoice, QuestionForm } from "../parts/controls.js";
import { Events } from "../parts/events.js";
import { Explanation } from "../parts/explanation.js";
import { About } from "../parts/hit.js";
import { Studio, useAnswer, useStudio } from "../parts/hooks.js";
import { Obstacle } from "../parts/obstacle.js";
import { useProfile } from "../parts/ranking.js";
import { Other, Relations } from "../parts/relations.js";
import { Marked } from "../parts/text.js";

const MOST_TO_EXPLAIN = 100;

export function View() {
  const { address } = useStudio();
  const { owner } = useItsStudio();
  const [version, setVersion] = useState(0);
  const found = useAnswer((signal) => service.memory(owner, address.id, signal), [owner, address.id, version]);
  if (found.error) return html`<${Obstacle} problem=${found.error} retry=${() => setVersion(version + 1)} />`;
  if (!found.value) return html`<p class="loading">Loading …</p>`;
  return html`<${Known} memory=${found.value} version=${version} changed=${() => setVersion(version + 1)} />`;
}

/** The studio of the memory's owner, which may be a team that is asked beside the owner. */
function useItsStudio() {
  const studio = useStudio();
  return { ...studio, owner: studio.address.values.of ?? studio.owner };
}

function Known({ memory, version, changed: update }) {
  const { address, cameFrom } = useStudio();
  const its = useItsStudio();
  const base = useProfile(address.values.profile);
  const profile = adjusted(base, settingIn(address.values, base));
  const explained = useExplanation(memory, profile, version);
  const history = useAnswer((signal) => service.history(its.owner, memory.id, signal), [its.owner, memory.id, version]);
  const end = endOf(memory);
  const now = address.values.as_of ? new Date(address.values.as_of).getTime() : undefined;
  const endThen = endOf(memory, now);
  const back = write({ view: cameFrom, values: { ...address.values, of: null } });
  const isOfHits = ["ask", "compare", "judge"].includes(cameFrom);
  return html`<div class="memory">
    <p><a href=${back}>← Back${isOfHits && " to the hits"}</a></p>
    <article class="panel">
      <h2 class="unseen">The memory</h2>
      <p class="content"><${Marked} text=${memory.content} terms=${matchedTerms(explained.value)} /></p>
      <${About} memory=${memory} />
      <${Studio.Provider} value=${its}>
        ${end && html`<${Ended} memory=${memory} end=${end} />`}
        <${Changes} memory=${memory} changed=${update} />
      <//>
    </article>
    <div class="columns">
      <div>
        <${QuestionForm} label="Question to explain its place for" again=${update} />
        <div class="row"><${ProfileChoice} /><${HitCount} /></div>
        <${AsOf} />
        ${explained.error && html`<${Obstacle} problem=${explained.error} />`}
        ${explained.value &&
        html`<${Explanation} found=${explained.value} profile=${profile} base=${base} id=${memory.id} />`}
        <section class="panel" aria-labelledby="time"><h2 id="time">What time does to it</h2>
          ${endThen
            ? html`<p>${endThen}: it is not found, so it has no score that could fall.</p>`
            : html`<${AgeingChart} profile=${profile} memory=${memory} explanation=${explained.value} now=${now} />`}
        </section>
      </div>
      <div>
        <section class="panel" aria-labelledby="history"><h2 id="history">History</h2>
          ${history.error && html`<${Obstacle} problem=${history.error} />`}
          ${history.value && html`<${Events} events=${history.value.events} memory=${memory} />`}</section>
        <section class="panel" aria-labelledby="relations"><h2 id="relations">Connections</h2>
          <${Studio.Provider} value=${its}><${Relations} memory=${memory} version=${version} /><//></section>
        <section class="panel" aria-labelledby="facts"><h2 id="facts">What is stored</h2>
          <${Facts} memory=${memory} /></section>
      </div>
    </div>
  </div>`;
}

function Ended({ memory: { superseded_by: successor, invalidation_reason: reason }, end }) {
  const how = successor ? html` by <${Other} id=${successor} />` : reason && ` (${reason})`;
  return html`<p class="problem ended"><b>${end}</b>${how}: it is no longer found.</p>`;
}

/** The profile of the address as it is, and with its sliders. */
function useExplanation(memory, profile, version) {
  const { owner, address, session } = useStudio();
  const body = {
    ...questionIn(address.values, session.embedder),
    memory_id: memory.id,
    k: Math.min(MOST_TO_EXPLAIN, hitsIn(address.values)),
    profile: named(profile),
  };
  const load = address.values.q ? (signal) => service.explain(owner, body, signal) : null;
  return useAnswer(load, [owner, JSON.stringify(body), version]);
}

function matchedTerms(explanation) {
  return (explanation?.terms ?? []).filter((one) => one.matched).map((one) => one.term);
}

function Facts({ memory }) {
  const facts = {
    id: memory.id,
    status: endOf(memory) ? `no longer found (stored as ${memory.status})` : memory.status,
    dated: time(memory.created_at),
    observed: memory.observed_at && time(memory.observed_at),
    valid: (memory.valid_from || memory.valid_until) && `${date(memory.valid_from)} to ${date(memory.valid_until)}`,
    expires: memory.expires_at && time(memory.expires_at),
    invalidated: memory.invalidated_at && `${time(memory.invalidated_at)}, ${memory.invalidation_reason}`,
    tier: memory.tier,
    subject: memory.subject,
    entities: memory.entities.join(", "),
    importance: share(memory.importance),
    usefulness: share(memory.usefulness),
    confidence: share(memory.confidence),
    trust: memory.trust === null ? "not assessed" : share(memory.trust),
    found: counted(memory.retrieval_count, "time"),
    used: memory.last_accessed_at ? time(memory.last_accessed_at) : "never",
    outcomes: `${memory.success_count} good, ${memory.failure_count} bad`,
    session: memory.session,
    key: memory.key,
    metadata: Object.keys(memory.metadata).length ? JSON.stringify(memory.metadata) : null,
  };
  return html`<dl class="facts">
    ${Object.entries(facts)
      .filter(([, value]) => value)
      .map(([name, value]) => html`<${Fragment} key=${name}><dt>${name}</dt><dd>${value}</dd><//>`)}
  </dl>`;
}
