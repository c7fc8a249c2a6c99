/** The weights of a profile's signals as sliders, and its half-life. */
import { html } from "../html.js";
import { decayingPart, halfLifeOf, hasSeveralHalfLives } from "../core/curve.js";
import { meaningOf, nameOf } from "../core/signals.js";
import { halfLife, share } from "../core/format.js";
import { sharesOf, withShare } from "../core/shares.js";
import { Swatch } from "./bar.js";

const SHORTEST = 0.25;
const LONGEST = 1500;
const STEPS = 400; // of the half-life's slider, which is logarithmic
const SILENT = "The question has nothing that this compares memories with.";

/** `setting` is {shares, halfLife}; `change` gets a new one, while a slider moves; `write` is called once it is left. */
export function Sliders({ profile, setting, silent, change, write }) {
  const move = (name, value) =>
    change({ ...setting, shares: withShare(setting.shares, name, value, sharesOf(profile)) });
  return html`<fieldset class="sliders" onFocusOut=${write}>
    <legend>Weights <small>they sum to 1</small></legend>
    ${Object.keys(setting.shares).map(
      (name) => html`<${Weight} key=${name} name=${name} value=${setting.shares[name]}
        own=${profile.signals[name].weight} isSilent=${silent.includes(name)}
        move=${(value) => move(name, value)} />`,
    )}
    <${HalfLife} profile=${profile} value=${setting.halfLife}
      change=${(days) => change({ ...setting, halfLife: days })} />
  </fieldset>`;
}

function Weight({ name, value, own, isSilent, move }) {
  const id = `weight-${name}`;
  const [was, is] = [share(own, 3), share(value, 3)];
  return html`<div class=${isSilent ? "slider silent" : "slider"} title=${meaningOf(name)}>
    <label for=${id}><${Swatch} name=${name} />${nameOf(name)}</label>
    <input id=${id} type="range" min="0" max="1" step="0.005" value=${value}
      aria-valuetext=${isSilent ? `${is}, not asked` : is}
      onInput=${(event) => move(Number(event.target.value))} />
    <output for=${id}>
      ${isSilent && html`<small title=${SILENT}>not asked</small> `}
      ${!isSilent && was !== is && html`<small>${was} →</small> `}${is}
    </output>
  </div>`;
}

function HalfLife({ profile, value, change }) {
  const part = decayingPart(profile);
  if (!part) return null;
  const days = value ?? halfLifeOf(part);
  const was = hasSeveralHalfLives(part) ? "by type or tier" : halfLife(halfLifeOf(part));
  const said = value === null ? was : halfLife(value);
  return html`<div class="slider half-life" title="After so many days, recency is one half.">
    <label for="half-life">half-life</label>
    <input id="half-life" type="range" min="0" max=${STEPS} step="1" value=${stepOf(days)} aria-valuetext=${said}
      onInput=${(event) => change(daysOf(Number(event.target.value)))} />
    <output for="half-life">${said !== was && html`<small>${was} →</small> `}${said}</output>
  </div>`;
}

function stepOf(days) {
  const within = Math.min(LONGEST, Math.max(SHORTEST, days));
  return Math.round((STEPS * Math.log(within / SHORTEST)) / Math.log(LONGEST / SHORTEST));
}

function daysOf(step) {
  const days = SHORTEST * (LONGEST / SHORTEST) ** (step / STEPS);
  return Number(days.toPrecision(3));
}
