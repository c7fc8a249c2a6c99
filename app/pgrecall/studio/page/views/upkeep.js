/** Look after: owners, what one of them takes, what is due, and the button that does it. */
import { html, useState } from "../html.js";
import { write, writeMemory } from "../core/address.js";
import { bytes, count, counted } from "../core/format.js";
import { Growth } from "../parts/growth.js";
import { useAnswer, useStudio } from "../parts/hooks.js";
import { Obstacle } from "../parts/obstacle.js";
import { RankIndex } from "../parts/rank_index.js";
import { brief } from "../parts/text.js";
import * as service from "../service/memories.js";

const NOT_KNOWN = { rank_indexes: [], pending: [], invalid_indexes: [] }; // to a key that may not maintain
const MOST_WAITING = 5;

export function View() {
  const { owner, may } = useStudio();
  const [version, setVersion] = useState(0);
  const sizes = useAnswer((signal) => service.sizes(owner, signal), [owner, version]);
  const state = useAnswer(may("maintain") ? service.status : null, [version]);
  const update = () => setVersion((before) => before + 1);
  return html`<div class="upkeep">
    <${Due} state=${state.value ?? NOT_KNOWN} />
    <${Owners} />
    ${sizes.error && html`<${Obstacle} problem=${sizes.error} retry=${update} />`}
    ${sizes.value && html`<${Sizes} sizes=${sizes.value} />
      <${RankIndex} state=${sizes.value.rank_index} update=${update} />`}
    ${state.value && html`<${ServiceState} state=${state.value} />`}
  </div>`;
}

function Owners() {
  const [teams, setTeams] = useState(false);
  const [prefix, setPrefix] = useState("");
  const page = useAnswer((signal) => service.owners({ teams, prefix }, signal), [teams, prefix]);
  const found = page.value?.owners ?? [];
  return html`<section class="panel" aria-labelledby="owners-title">
    <h2 id="owners-title">Owners</h2>
    <div class="row">
      <label class="field">Names that begin with
        <input value=${prefix} onInput=${(event) => setPrefix(event.target.value)} /></label>
      <label class="check">
        <input type="checkbox" checked=${teams} onChange=${(event) => setTeams(event.target.checked)} /> teams</label>
    </div>
    ${page.error && html`<${Obstacle} problem=${page.error} />`}
    <table class="numbers">
      <thead><tr><th scope="col">owner</th><th scope="col">memories</th></tr></thead>
      <tbody>${found.map((one) => html`<${Owner} key=${one.agent_id ?? one.team_id} one=${one} />`)}</tbody>
    </table>
    ${page.value?.next && html`<small>There are more; write how a name begins.</small>`}
  </section>`;
}

function Owner({ one }) {
  const { owner, address } = useStudio();
  const name = one.agent_id ?? `team:${one.team_id}`;
  const href = write({ view: "upkeep", values: { ...address.values, owner: name } });
  return html`<tr>
    <th scope="row"><a href=${href} aria-current=${name === owner ? "true" : undefined}>${name}</a></th>
    <td>${count(one.memories)}</td>
  </tr>`;
}

function Sizes({ sizes }) {
  const { owner } = useStudio();
  return html`<section class="panel" aria-labelledby="sizes">
    <h2 id="sizes">${owner}: ${counted(sizes.memories, "memory", "memories")}, about ${bytes(sizes.bytes)}</h2>
    <div class="row beside">
      <${Numbers} title="status" numbers=${sizes.by_status} /><${Numbers} title="type" numbers=${sizes.by_type} />
    </div>
    <h3>By month</h3>
    <${Growth} months=${sizes.by_month} />
  </section>`;
}

function Numbers({ title, numbers }) {
  const sorted = Object.entries(numbers).sort(([, one], [, other]) => other - one);
  return html`<table class="numbers">
    <thead><tr><th scope="col">${title}</th><th scope="col">memories</th></tr></thead>
    <tbody>${sorted.map(
      ([name, number]) => html`<tr key=${name}><th scope="row">${name}</th><td>${count(number)}</td></tr>`,
    )}</tbody>
  </table>`;
}

/** What is due of all owners, so that nobody has to look at each, and what waits for a decision of this one. */
function Due({ state }) {
  const { owner, address } = useStudio();
  const waiting = (search) =>
    useAnswer((signal) => service.memories(owner, { ...search, limit: MOST_WAITING, total: true }, signal), [owner]).value;
  const unapproved = waiting({ statuses: ["pending"] });
  const outdated = waiting({ needs_review: true });
  const of = (owner) => write({ view: "upkeep", values: { ...address.values, owner } });
  const indexes = state.rank_indexes.filter(({ due }) => due);
  const number = indexes.length + state.pending.length + state.invalid_indexes.length;
  const isAny = number + (unapproved?.total ?? 0) + (outdated?.total ?? 0) > 0;
  return html`<section class="panel" aria-labelledby="due">
    <h2 id="due">What is due</h2>
    ${!isAny && unapproved && outdated && html`<p>Nothing.</p>`}
    <${Waiting} page=${unapproved} todo="waits for approval" several="wait for approval" />
    <${Waiting} page=${outdated} todo="was called outdated" several="were called outdated" />
    ${state.pending.length > 0 &&
    html`<p>${counted(state.pending.length, "migration")}: <code>pgrecall migrate up</code></p>`}
    ${state.invalid_indexes.length > 0 &&
    html`<p>Invalid indexes (${state.invalid_indexes.join(", ")}): <code>pgrecall migrate up</code> builds them.</p>`}
    <ul class="plain">
      ${indexes.map(
        ({ agent_id: id, due }) => html`<li key=${id}><a href=${of(id)}>Rank index of ${id}</a>: ${due}</li>`,
      )}
    </ul>
  </section>`;
}

/** Memories that a person decides about, on their own pages. */
function Waiting({ page, todo, several }) {
  const { owner, address } = useStudio();
  if (!page?.total) return null;
  const to = (one) => writeMemory(one, owner, address.values);
  return html`<p>${counted(page.total, `memory ${todo}`, `memories ${several}`)}:</p>
    <ul class="plain">
      ${page.memories.map((one) => html`<li key=${one.id}><a href=${to(one)}>${brief(one.content)}</a></li>`)}
    </ul>`;
}

function ServiceState({ state }) {
  return html`<section class="panel" aria-labelledby="service">
    <h2 id="service">The database</h2>
    <dl class="facts">
      <dt>pgrecall</dt><dd>${state.pgrecall}</dd>
      <dt>PostgreSQL</dt><dd>${state.postgres}, pgvector ${state.pgvector}</dd>
      <dt>schema</dt><dd>${state.schema}, revision ${state.revision}</dd>
      <dt>embeddings</dt><dd>${state.embedding_model ?? "none"}, ${count(state.dimensions)} dimensions</dd>
      <dt>language</dt><dd>${state.language}</dd>
    </dl>
  </section>`;
}
