/** Judge: marks that say which hits answer, and what profiles make of them. */
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { write } from "../core/address.js";
import { counted } from "../core/format.js";
import { AsOf } from "../parts/as_of.js";
import { fullWidth } from "../parts/bar.js";
import { Filters, HitCount, ProfileChoice, QuestionForm } from "../parts/controls.js";
import { Evaluation } from "../parts/evaluation.js";
import { Hit } from "../parts/hit.js";
import { useAnswer, useStudio } from "../parts/hooks.js";
import { KeyHelp, Marks, useJudgingKeys, useMarks } from "../parts/marks.js";
import { Obstacle } from "../parts/obstacle.js";
import { useAdjustedRanking } from "../parts/ranking.js";
import { Saved } from "../parts/save_profile.js";
import { Side } from "../parts/side.js";
import { Welcome } from "../parts/welcome.js";
import * as service from "../service/memories.js";

const NONE = [];

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
  return html`<div class="ask">
    <${QuestionForm} again=${ranking.retry} />
    <${Side} label="Judged questions and profiles" summary=${`${counted(judged.length, "judged question")}, evaluate`}>
      <div class="row"><${ProfileChoice} /><${HitCount} /></div>
      <${Saved} />
      <${ProfileChoice} name="with" label="Beside" otherwise=${second.name} />
      ${found.error && html`<${Obstacle} problem=${found.error} />`}
      ${may("write")
        ? html`<${Evaluation} first=${base} second=${second} k=${ranking.k} judged=${judged} />`
        : html`<p class="note">A key with the scope write can judge and evaluate.</p>`}
      <${Judged} judged=${judged} />
      <${AsOf} />
      <${Filters} />
    <//>
    <div class="results">
      ${ranking.error && html`<${Obstacle} problem=${ranking.error} retry=${ranking.retry} />`}
      ${!address.values.q && html`<${Welcome} />`}
      ${ranking.ranked && html`<${ToJudge} ranking=${ranking} judged=${judged} changed=${changed} />`}
    </div>
  </div>`;
}

function ToJudge({ ranking, judged, changed }) {
  const { address, may } = useStudio();
  const list = useRef(null);
  const hits = useMemo(() => ranking.ranked.hits.slice(0, ranking.k), [ranking.ranked, ranking.k]);
  const [marks, mark, takeBack] = useMarks(address.values.q, judged, changed);
  const keys = useJudgingKeys(hits, may("write") ? mark : null, takeBack, list);
  useFirstHit(address.values.q, ranking.isCurrent, keys.moveTo);
  const most = fullWidth(hits.slice(0, 1).map((hit) => hit.score));
  const markAt = (at, id) => (answers) => {
    keys.setAt(at);
    mark(id, answers);
  };
  const number = hits.filter(({ id }) => typeof marks[id] === "boolean").length;
  return html`<p class="summary"><span>${number} of ${counted(hits.length, "hit")} judged</span>
      <button type="button" onClick=${() => keys.setHelp(true)}>Keys: <kbd>?</kbd></button></p>
    ${keys.isHelpOpen && html`<${KeyHelp} close=${() => keys.setHelp(false)} />`}
    <ol class="hits" ref=${list} aria-label="Hits to judge">
      ${hits.map(
        (hit, at) => html`<${Hit} key=${hit.id} hit=${hit} place=${at + 1} most=${most}
          weights=${ranking.ranked.weights} values=${address.values} isCurrent=${hit.id === keys.current.id}>
          ${may("write") && html`<${Marks} value=${marks[hit.id]} mark=${markAt(at, hit.id)} />`}
        <//>`,
      )}
    </ol>`;
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
