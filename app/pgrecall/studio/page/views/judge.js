/** Judge: marks that say which hits answer, and what profiles make of them. */
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { ownerOf, write } from "../core/address.js";
import { counted } from "../core/format.js";
import { adjusted } from "../core/setting.js";
import { AsOf } from "../parts/as_of.js";
import { fullWidth } from "../parts/bar.js";
import { Filters, HitCount, InForce, ProfileChoice, QuestionForm } from "../parts/controls.js";
import { Evaluation } from "../parts/evaluation.js";
import { Hit } from "../parts/hit.js";
import { useAnswer, useStudio } from "../parts/hooks.js";
import { KeyHelp, Marks, useJudgingKeys, useMarks } from "../parts/marks.js";
import { Obstacle } from "../parts/obstacle.js";
import { Missing } from "../parts/missing.js";
import { useAdjustedRanking, useRanking } from "../parts/ranking.js";
import { Other } from "../parts/relations.js";
import { Side } from "../parts/side.js";
import { Welcome } from "../parts/welcome.js";
import * as service from "../service/memories.js";

const NONE = [];
const CAN_BE_FOUND = {}; // the other memories of an owner, no profile could find

export function View() {
  const { owner, address, may, profiles } = useStudio();
  const ranking = useAdjustedRanking();
  const [version, setVersion] = useState(0);
  const found = useAnswer((signal) => service.judgements(owner, signal), [owner, version]);
  const changed = () => setVersion((before) => before + 1);
  const judged = found.value?.queries ?? NONE;
  const { base } = ranking;
  const others = profiles.filter((one) => one.name !== base.name);
  const second = others.find((one) => one.name === address.values.with) ?? others[0];
  const beside = useRanking(second.name);
  const problem = ranking.error ?? beside.error;
  const retry = () => { ranking.retry(); beside.retry(); };
  return html`<div class="ask">
    <${QuestionForm} again=${retry} />
    <${Side} label="Judged questions and profiles" summary=${`${counted(judged.length, "judged question")}, evaluate`}>
      <div class="row"><${ProfileChoice} /><${HitCount} /></div>
      <${ProfileChoice} name="with" label="Beside" otherwise=${second.name} />
      ${found.error && html`<${Obstacle} problem=${found.error} />`}
      ${may("write")
        ? html`<${Evaluation} first=${adjusted(base, ranking.setting)} second=${second} k=${ranking.k} judged=${judged} />`
        : html`<p class="note">A key with the scope write can judge and evaluate.</p>`}
      <${Judged} judged=${judged} />
      <${AsOf} />
      <${Filters} />
    <//>
    <div class="results">
      ${problem && html`<${Obstacle} problem=${problem} retry=${retry} />`}
      ${address.values.q ? html`<${InForce} />` : html`<${Welcome} />`}
      ${ranking.ranked && beside.ranked &&
      html`<${ToJudge} rankings=${[ranking, beside]} judged=${judged} changed=${changed} />`}
    </div>
  </div>`;
}

function ToJudge({ rankings, judged, changed }) {
  const { owner, address, may } = useStudio();
  const list = useRef(null);
  const [first, second] = rankings;
  const hits = useMemo(() => ofBoth(rankings), [first.ranked, second.ranked, first.k]);
  const { marks, mark, takeBack, failed } = useMarks(address.values.q, judged, changed);
  const keys = useJudgingKeys(hits, may("write") ? mark : null, takeBack, list);
  useFirstHit(address.values.q, first.isCurrent && second.isCurrent, keys.moveTo);
  const most = fullWidth(hits.map(({ score }) => score));
  const markAt = (at, id) => (answers) => {
    keys.setAt(at);
    mark(id, answers);
  };
  const isMarked = ({ id }) => typeof marks[id] === "boolean";
  const elsewhere = Object.keys(marks).filter((id) => isMarked({ id }) && !hits.some((hit) => hit.id === id));
  const of = `${first.name} and ${second.name}`;
  return html`<p class="summary">
      <span>${hits.filter(isMarked).length} of ${counted(hits.length, "hit")} judged</span>
      <small>found by ${of}</small>
      <button type="button" onClick=${() => keys.setHelp(true)}>Keys: <kbd>?</kbd></button></p>
    ${failed && html`<p class="problem" role="alert">${failed}</p>`}
    ${keys.isHelpOpen && html`<${KeyHelp} close=${() => keys.setHelp(false)} />`}
    <ol class="hits to-judge" ref=${list} aria-label="Hits to judge">
      ${hits.map(
        (hit, at) => html`<${Hit} key=${hit.id} hit=${hit} place=${at + 1} most=${most}
          weights=${hit.weights} values=${address.values} isCurrent=${hit.id === keys.current.id}>
          ${may("write") && ownerOf(hit.candidate.memory) === owner &&
          html`<${Marks} value=${marks[hit.id]} mark=${markAt(at, hit.id)} />`}
        <//>`,
      )}
    </ol>
    ${elsewhere.length > 0 && html`<section class="missing" aria-labelledby="elsewhere">
      <h2 id="elsewhere">Judged, and not among these hits</h2>
      <ul class="plain judged">${elsewhere.map(
        (id) => html`<li key=${id}><${Other} id=${id} />
          ${may("write") && html`<${Marks} value=${marks[id]} mark=${(answers) => mark(id, answers)} />`}</li>`,
      )}</ul>
    </section>`}
    ${may("write") && html`<${Missing} key=${address.values.q} action="Find it" search=${CAN_BE_FOUND}
      beside=${({ id }) => html`<${Marks} value=${marks[id]} mark=${(answers) => mark(id, answers)} />`} />`}`;
}

/** The hits of both, by the better of their places, so that neither is judged by more of its own. */
function ofBoth(rankings) {
  const found = new Map();
  for (let place = 0; place < rankings[0].k; place += 1) {
    for (const { ranked } of rankings) {
      const hit = ranked.hits[place];
      if (hit && !found.has(hit.id)) found.set(hit.id, { ...hit, weights: ranked.weights });
    }
  }
  return [...found.values()];
}

/** Whoever has asked is led to the first hit, where keys mark. */
function useFirstHit(question, isCurrent, moveTo) {
  useEffect(() => {
    if (isCurrent && document.activeElement?.closest(".question")) moveTo(0);
  }, [question, isCurrent]);
}

function Judged({ judged }) {
  const { address } = useStudio();
  return html`<section aria-labelledby="judged">
    <h2 id="judged">${counted(judged.length, "judged question")}</h2>
    <ul class="plain">
      ${judged.map(
        (one) => html`<li key=${one.query}>
          <a href=${write({ view: "judge", values: { ...address.values, q: one.query } })}>${one.query}</a>
          <small> ${counted(one.relevant.length, "answer")}</small>
        </li>`,
      )}
    </ul>
    ${!judged.length &&
    html`<p><small>Ask, and mark the hits that answer. Ten questions are enough to begin with.</small></p>`}
  </section>`;
}
