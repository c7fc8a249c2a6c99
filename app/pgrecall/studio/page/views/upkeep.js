/** Look after: owners, what one of them takes, what is due, and the button that does it. */
import { html, useState } from "../html.js";
import { write } from "../core/address.js";
import { bytes, count, counted, time } from "../core/format.js";
import { useAnswer, useStudio } from "../parts/hooks.js";
import { Growth } from "../parts/growth.js";
import { Progress, useLongWork } from "../parts/long_work.js";
import { Obstacle } from "../parts/obstacle.js";
import * as service from "../service/memories.js";

export function UpkeepView() {
  const { owner, may } = useStudio();
  const [version, setVersion] = useState(0);
  const sizes = useAnswer((signal) => service.sizes(owner, signal), [owner, version]);
  const state = useAnswer(may("maintain") ? service.status : null, [version]);
  const update = () => setVersion((before) => before + 1);
  return html`<div class="upkeep">
    <${Owners} />
    ${sizes.error && html`<${Obstacle} problem=${sizes.error} retry=${update} />`}
    ${sizes.value && html`<${Sizes} sizes=${sizes.value} /><${RankIndex} state=${sizes.value.rank_index} update=${update} />`}
    ${state.value && html`<${ServiceState} state=${state.value} />`}
  </div>`;
}

function Owners() {
  const { owner, address } = useStudio();
  const [teams, setTeams] = useState(false);
  const [prefix, setPrefix] = useState("");
  const page = useAnswer((signal) => service.owners({ teams, prefix }, signal), [teams, prefix]);
  const of = (name) => write({ view: "upkeep", values: { ...address.values, owner: name } });
  return html`<section class="panel" aria-labelledby="owners-title">
    <h2 id="owners-title">Owners</h2>
    <div class="row">
      <label class="field">Names that begin with<input value=${prefix} onInput=${(event) => setPrefix(event.target.value)} /></label>
      <label class="check"><input type="checkbox" checked=${teams} onChange=${(event) => setTeams(event.target.checked)} /> teams</label>
    </div>
    ${page.error && html`<${Obstacle} problem=${page.error} />`}
    <table class="numbers">
      <thead><tr><th scope="col">owner</th><th scope="col">memories</th></tr></thead>
      <tbody>${(page.value?.owners ?? []).map((one) => {
        const name = one.agent_id ?? `team:${one.team_id}`;
        return html`<tr key=${name}><th scope="row"><a href=${of(name)} aria-current=${name === owner ? "true" : undefined}>${name}</a></th><td>${count(one.memories)}</td></tr>`;
      })}</tbody>
    </table>
    ${page.value?.next && html`<small>There are more; write how a name begins.</small>`}
  </section>`;
}

function Sizes({ sizes }) {
  const { owner } = useStudio();
  return html`<section class="panel" aria-labelledby="sizes">
    <h2 id="sizes">${owner}: ${counted(sizes.memories, "memory", "memories")}, about ${bytes(sizes.bytes)}</h2>
    <div class="row top-aligned">
      <${Numbers} title="status" numbers=${sizes.by_status} /><${Numbers} title="type" numbers=${sizes.by_type} />
    </div>
    <h3>Stored by month</h3>
    <${Growth} months=${sizes.by_month} />
  </section>`;
}

function Numbers({ title, numbers }) {
  const sorted = Object.entries(numbers).sort(([, one], [, other]) => other - one);
  return html`<table class="numbers">
    <thead><tr><th scope="col">${title}</th><th scope="col">memories</th></tr></thead>
    <tbody>${sorted.map(([name, number]) => html`<tr key=${name}><th scope="row">${name}</th><td>${count(number)}</td></tr>`)}</tbody>
  </table>`;
}

const WORK = {
  build: "Build it",
  maintain: "Do what is due",
  drop: "Drop it",
};

function RankIndex({ state, update }) {
  const { owner, may } = useStudio();
  const work = useLongWork();
  const index = state?.index ?? null;
  const verbs = index ? ["maintain", "build", "drop"] : ["build"];
  const run = async (verb) => {
    await work.start((signal) => service.rankIndex(owner, verb, {}, signal));
    update();
  };
  return html`<section class="panel" aria-labelledby="rank-index">
    <h2 id="rank-index">Rank index ${state?.due ? html`<span class="chip warn">due</span>` : html`<span class="chip good">nothing is due</span>`}</h2>
    <p>${state?.due ?? (index ? "It is up to date." : "There is none, and none is needed: every memory is ranked, which is fast up to some ten thousand.")}</p>
    ${index && html`<dl class="facts">
      <dt>profile</dt><dd>${index.profile}</dd>
      <dt>built</dt><dd>${time(index.built_at)}</dd>
      <dt>written since</dt><dd>${count(state.written)}</dd>
      <dt>changed since</dt><dd>${count(state.changed)}</dd>
      <dt>size</dt><dd>${bytes(state.bytes)}</dd>
    </dl>`}
    ${may("maintain")
      ? html`<div class="buttons">${verbs.map((verb) => html`<button key=${verb} type="button" class=${verb === "drop" ? "danger" : ""} disabled=${work.isRunning} onClick=${() => run(verb)}>${WORK[verb]}</button>`)}</div>`
      : html`<small>A key with the scope maintain can build it.</small>`}
    <${Progress} work=${work} label="Working" />
  </section>`;
}

function ServiceState({ state }) {
  return html`<section class="panel" aria-labelledby="service">
    <h2 id="service">The database</h2>
    <dl class="facts">
      <dt>pgrecall</dt><dd>${state.pgrecall}</dd>
      <dt>PostgreSQL</dt><dd>${state.postgres}, pgvector ${state.pgvector}</dd>
      <dt>schema</dt><dd>${state.schema}, revision ${state.revision}${state.pending.length > 0 && html` <span class="chip warn">${counted(state.pending.length, "migration")} due: pgrecall migrate up</span>`}</dd>
      <dt>embeddings</dt><dd>${state.embedding_model ?? "none"}, ${count(state.dimensions)} dimensions</dd>
      <dt>language</dt><dd>${state.language}</dd>
    </dl>
    ${state.invalid_indexes.length > 0 && html`<p class="note">These indexes are invalid: ${state.invalid_indexes.join(", ")}. pgrecall migrate up builds them anew.</p>`}
  </section>`;
}
