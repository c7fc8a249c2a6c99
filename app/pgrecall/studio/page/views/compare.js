/** Compare: the same question by two profiles, and what moves which memory. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { writeMemory } from "../core/address.js";
import { places, sentence } from "../core/compare.js";
import { counted, share } from "../core/format.js";
import { AsOf } from "../parts/as_of.js";
import { Bar, Key, fullWidth } from "../parts/bar.js";
import { Filters, HitCount, InForce, ProfileChoice, QuestionForm } from "../parts/controls.js";
import { useStudio } from "../parts/hooks.js";
import { Obstacle } from "../parts/obstacle.js";
import { useAdjustedRanking, useRanking } from "../parts/ranking.js";
import { brief } from "../parts/text.js";
import { Welcome } from "../parts/welcome.js";

export function View() {
  const { address, defaultProfile, profiles } = useStudio();
  const first = address.values.profile ?? defaultProfile;
  const second = address.values.with ?? profiles.find((one) => one.name !== first).name;
  const left = useAdjustedRanking();
  const right = useRanking(second);
  const problem = left.error ?? right.error;
  return html`<div class="compare">
    <${QuestionForm} again=${() => { left.retry(); right.retry(); }} />
    <div class="row">
      <${ProfileChoice} label="Left" />
      <${ProfileChoice} name="with" label="Right" otherwise=${second} />
      <${HitCount} />
    </div>
    <div class="row conditions"><${AsOf} /><${Filters} /></div>
    ${problem && html`<${Obstacle} problem=${problem} retry=${left.error ? left.retry : right.retry} />`}
    ${address.values.q ? html`<${InForce} />` : html`<${Welcome} />`}
    ${left.ranked && right.ranked && html`<${Both} left=${left} right=${right} />`}
  </div>`;
}

function Both({ left, right }) {
  const { announce } = useStudio();
  const { k } = left;
  const pairs = places(left.ranked.hits, right.ranked.hits, k);
  const moved = pairs.filter(({ left: one, right: other }) => one?.place !== other?.place);
  const said = `${counted(moved.length, "memory differs", "memories differ")} in place among the first ${k}.`;
  useEffect(() => announce(said), [said]);
  const [current, setCurrent] = useState(null);
  const [sides, most] = [useRef(null), fullWidth([left, right].map(({ ranked }) => ranked.hits[0]?.score ?? 0))];
  const column = (ranking) =>
    html`<${Column} ranking=${ranking} most=${most} current=${current} point=${setCurrent} />`;
  const signals = Object.keys({ ...left.base.signals, ...right.base.signals });
  return html`<p class="summary">${said}</p>
    <${Key} signals=${signals} />
    <div class="sides" ref=${sides}>
      ${column(left)}<${Lines} pairs=${pairs} sides=${sides} current=${current} />${column(right)}
    </div>
    <${Differences} moved=${moved} left=${left} right=${right} point=${setCurrent} />`;
}

function Column({ ranking, most, current, point }) {
  const { name, ranked, k, isExact } = ranking;
  return html`<section aria-label=${name}>
    <h2>${name} ${!isExact && html`<span class="chip approximate">approximate …</span>`}</h2>
    <ol class="hits compact">
      ${ranked.hits.slice(0, k).map(
        (hit, at) => html`<${Row} key=${hit.id} hit=${hit} place=${at + 1} most=${most}
          isCurrent=${hit.id === current} point=${point} />`,
      )}
    </ol>
  </section>`;
}

function Row({ hit, place, most, isCurrent, point }) {
  const { owner, address } = useStudio();
  return html`<li class=${isCurrent ? "hit current" : "hit"} data-id=${hit.id}
    onMouseEnter=${() => point(hit.id)} onMouseLeave=${() => point(null)}>
    <span class="place">${place}</span>
    <div class="body">
      <a class="line" href=${writeMemory(hit.candidate.memory, owner, address.values)}
        onFocus=${() => point(hit.id)} onBlur=${() => point(null)}>${brief(hit.candidate.memory.content, 200)}</a>
      <div class="values">
        <b>${share(hit.score, 3)}</b><${Bar} contributions=${hit.contributions} most=${most} />
      </div>
    </div>
  </li>`;
}

/** Lines between the two places of each memory. The sentences below say the same as text. */
function Lines({ pairs, sides, current }) {
  const drawing = useRef(null);
  const [lines, setLines] = useState([]);
  useLayoutEffect(() => {
    const measure = () => setLines(drawing.current ? ends(pairs, sides.current, drawing.current) : []);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(sides.current);
    return () => observer.disconnect();
  }, [pairs.map(({ id }) => id).join(), sides]);
  return html`<svg class="lines" ref=${drawing} aria-hidden="true">
    ${lines.map(
      ({ id, from, to, width }) => html`<path key=${id} class=${lineClass(id, from, to, current)}
        d=${`M0 ${from} C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}`} />`,
    )}
  </svg>`;
}

function lineClass(id, from, to, current) {
  const kind = Math.abs(from - to) < 2 ? "level" : to < from ? "up" : "down";
  return id === current ? `${kind} current` : kind;
}

function ends(pairs, sides, drawing) {
  const { top, width } = drawing.getBoundingClientRect();
  const [before, after] = [...sides.querySelectorAll("ol")].map(
    (list) => new Map([...list.children].map((row) => [row.dataset.id, middle(row) - top])),
  );
  return pairs
    .filter(({ id }) => before.has(id) && after.has(id))
    .map(({ id }) => ({ id, from: before.get(id), to: after.get(id), width }));
}

function middle(row) {
  const { top, height } = row.getBoundingClientRect();
  return top + height / 2;
}

function Differences({ moved, left, right, point }) {
  const { owner, address } = useStudio();
  if (!moved.length) return html`<p class="note">Both profiles put the same memories at the same places.</p>`;
  const [before, after] = [placesOf(left), placesOf(right)];
  return html`<section class="panel" aria-labelledby="differences">
    <h2 id="differences">What moves, from left to right</h2>
    <ul class="plain differences">
      ${moved.map(({ id, left: one, right: other }) => {
        const { memory } = (one ?? other).hit.candidate;
        return html`<li key=${id} onMouseEnter=${() => point(id)} onMouseLeave=${() => point(null)}>
          <b>${sentence(before.get(id), after.get(id), left.k)}</b>
          <a href=${writeMemory(memory, owner, address.values)}>${brief(memory.content)}</a>
        </li>`;
      })}
    </ul>
  </section>`;
}

/** Every candidate with its place, null behind the first k: its parts are known there, too. */
function placesOf({ ranked, k }) {
  return new Map(ranked.hits.map((hit, at) => [hit.id, { hit, place: at < k ? at + 1 : null }]));
}
