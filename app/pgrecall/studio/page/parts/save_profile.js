/** Saves a profile in the database, for whoever may. */
import { html, useState } from "../html.js";
import { asValues, own } from "../core/setting.js";
import * as service from "../service/memories.js";
import { useStudio } from "./hooks.js";

const RULE = "At most 51 of a to z, 0 to 9 and _; the first is a letter.";
let saved = null; // {name, at: the address then}: the page begins anew with the profiles that there are then

/** Until the address changes: what was saved is no longer what is shown then. */
export function Saved() {
  useStudio();
  if (saved?.at !== location.hash) saved = null;
  return saved && html`<p class="done" role="status">Saved as ${saved.name}.</p>`;
}

/** The page goes on with the saved profile, whose sliders begin anew. */
export function SaveProfile({ found }) {
  const { go, retry, may } = useStudio();
  const [failed, setFailed] = useState(null);
  const [known, setKnown] = useState(null); // the name of a profile that there is, to be replaced
  if (!may("maintain")) return null;
  const save = async (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get("name").trim();
    setFailed(null);
    try {
      const { profiles } = known === name ? { profiles: [] } : await service.profiles();
      if (profiles.some((one) => one.name === name && !one.built_in)) {
        setKnown(name);
        return;
      }
      await service.saveProfile(name, { ...found, name });
      go({ values: { ...asValues(own(found), found), profile: name } });
      saved = { name, at: location.hash };
      retry();
    } catch (problem) {
      setFailed(problem.message);
    }
  };
  return html`<form class="row" onSubmit=${save}>
    <label class="field">Save as profile
      <input name="name" required maxlength="51" pattern="[a-z][a-z0-9_]*" title=${RULE} placeholder="name"
        onInput=${() => setKnown(null)} autocomplete="off" aria-describedby="rule-of-names" /></label>
    <button type="submit">${known ? "Replace it" : "Save"}</button>
    <small id="rule-of-names">${RULE}</small>
    ${known && html`<p class="note" role="alert">There is a profile ${known}, which this replaces for everybody.</p>`}
    ${failed && html`<p class="problem" role="alert">${failed}</p>`}
  </form>`;
}
