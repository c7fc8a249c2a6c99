/** Takes what the sliders found along, as text. */
import { html, useState } from "../html.js";
import { definition, toPython, toSql, toToml } from "../core/profile.js";
import { adjusted } from "../core/setting.js";
import { useStudio } from "./hooks.js";

export function Export({ ranking }) {
  const { address, owner, announce } = useStudio();
  const { base, setting, k, isChanged, reset } = ranking;
  const found = definition(adjusted(base, setting));
  const query = address.values.q ?? "";
  const texts = {
    TOML: () => toToml(found),
    Python: () => toPython(found),
    SQL: () => toSql(found, { owner, query, k, profile: base.name, halfLife: setting.halfLife }),
  };
  const [copied, setCopied] = useState("");
  const [outcome, setOutcome] = useState("");
  const copy = async (kind) => {
    setCopied(kind);
    // Browsers have no clipboard for pages that came over HTTP from elsewhere: the text is shown.
    const isCopied = await navigator.clipboard?.writeText(texts[kind]()).then(() => true, () => false);
    const said = isCopied ? `Copied as ${kind}.` : `Shown as ${kind}: copy it from here.`;
    setOutcome(said);
    announce(said);
  };
  return html`<div class="export">
    <div class="buttons">
      <span>Copy as</span>
      ${Object.keys(texts).map(
        (kind) => html`<button key=${kind} type="button" aria-pressed=${copied === kind}
          onClick=${() => copy(kind)}>${kind}</button>`,
      )}
      ${isChanged && html`<button type="button" onClick=${reset}>Reset</button>`}
    </div>
    ${outcome && html`<small>${outcome}</small>`}
    ${copied && html`<pre tabindex="0" aria-label=${`As ${copied}`}><code>${texts[copied]()}</code></pre>`}
  </div>`;
}
