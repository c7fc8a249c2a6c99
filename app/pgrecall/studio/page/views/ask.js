/** Ask: a question, its hits, and sliders that rank them anew while they move. */
import { html, useEffect, useMemo, useRef } from "../html.js";
import { count, counted, date } from "../core/format.js";
import { filtersSet } from "../core/question.js";
import { AsOf } from "../parts/as_of.js";
import { fullWidth } from "../parts/bar.js";
import { Filters, HitCount, InForce, ProfileChoice, QuestionForm, Skip } from "../parts/controls.js";
import { Export } from "../parts/export.js";
import { useSlidingRows } from "../parts/flip.js";
import { useGrowing } from "../parts/growing.js";
import { Hit } from "../parts/hit.js";
import { useStudio } from "../parts/hooks.js";
import { Missing } from "../parts/missing.js";
import { NoEmbedder, Obstacle } from "../parts/obstacle.js";
import { useAdjustedRanking } from "../parts/ranking.js";
import { Sought } from "../parts/remedies.js";
import { Side } from "../parts/side.js";
import { Sliders } from "../parts/sliders.js";
import { Welcome } from "../parts/welcome.js";

export function View() {
  const { address } = useStudio();
  const ranking = useAdjustedRanking();
  const results = useRef(null);
  return html`<div class="ask">
    <${QuestionForm} again=${ranking.retry} />
    <${Skip} to=${results}>Skip to the hits<//>
    <${Side} label="How it ranks" summary=${`Rank by ${ranking.name}`}>
      <div class="row"><${ProfileChoice} /><${HitCount} /></div>
      <${Sliders} profile=${ranking.base} ...${ranking} />
      <${Export} ranking=${ranking} />
      <${AsOf} />
      <${Filters} />
    <//>
    <div class="results" ref=${results} tabindex="-1">
      ${ranking.error && html`<${Obstacle} problem=${ranking.error} retry=${ranking.retry} />`}
      ${address.values.q && html`<${InForce} />`}
      ${address.values.q ? html`<${Answer} ranking=${ranking} />` : html`<${Welcome} />`}
    </div>
  </div>`;
}

function Answer({ ranking }) {
  const { candidates, ranked } = ranking;
  const missing = useRef(null);
  if (!ranked) return ranking.error ? null : html`<p class="loading">Ranking …</p>`;
  if (!candidates.memories.length) return html`<${Nothing} />`;
  return html`<${NoEmbedder} />
    <${Summary} ranking=${ranking} missOne=${() => missing.current.focus()} />
    <${Sought} ranking=${ranking} />
    <${Hits} ranking=${ranking} />
    <${Missing} key=${candidates.subject} field=${missing} />`;
}

function Summary({ ranking, missOne }) {
  const { candidates, ranked, k, isExact, isCurrent, name } = ranking;
  const { announce, address } = useStudio();
  const shown = Math.min(k, ranked.hits.length);
  const { as_of: moment, teams } = address.values;
  const filters = filtersSet(address.values).length;
  const { total } = candidates; // null until all are counted
  const text = [
    `${total === null ? "" : `${count(shown)} of `}${counted(total ?? shown, "memory", "memories")}`,
    teams && `with ${teams}`,
    filters && `by ${counted(filters, "filter")}`,
    `by ${name}`,
    moment && `as of ${date(moment)}`,
  ].filter(Boolean).join(", ");
  useEffect(() => {
    if (total !== null) announce(`${text}. ${isExact ? "The order is exact." : ""}`);
  }, [text, isExact]);
  return html`<p class="summary">
    <span>${text}</span>
    <span class=${isExact ? "chip exact" : "chip approximate"}
      title=${isExact
        ? "No memory that was not sent can come before these."
        : "A memory that was not sent might belong here; the service is asked."}>
      ${isExact ? "exact" : isCurrent ? "approximate …" : "asking …"}</span>
    <small>${Math.round(candidates.milliseconds)} ms</small>
    <button type="button" onClick=${missOne}>Is one missing?</button>
  </p>`;
}

function Hits({ ranking }) {
  const { ranked, asProfileHasIt, k, isChanged } = ranking;
  const { address } = useStudio();
  const list = useRef(null);
  const [drawn, more] = useGrowing(Math.min(k, ranked.hits.length));
  const hits = ranked.hits.slice(0, Math.min(k, drawn));
  const before = useMemo(() => new Map(asProfileHasIt.hits.map((hit, at) => [hit.id, at])), [asProfileHasIt]);
  useSlidingRows(list, hits);
  const most = fullWidth(hits.slice(0, 1).map((hit) => hit.score));
  const kind = ranking.isCurrent ? "hits" : "hits stale";
  return html`<ol class=${kind} ref=${list} aria-label="Hits, best first" aria-busy=${!ranking.isCurrent}>
    ${hits.map(
      (hit, at) => html`<${Hit} key=${hit.id} hit=${hit} place=${at + 1} most=${most} weights=${ranked.weights}
        moved=${isChanged ? before.get(hit.id) - at : 0} values=${address.values} />`,
    )}
  </ol>${more}`;
}

function Nothing() {
  const { owner, address } = useStudio();
  return html`<section class="screen">
    <h2>No memory of ${owner} passes</h2>
    <p>${address.values.as_of ? "None was known at that moment, or" : "There is none, or"} the filters leave none.</p>
    <p>Take filters away, move “As of” to now, or choose another owner above.</p>
  </section>`;
}
