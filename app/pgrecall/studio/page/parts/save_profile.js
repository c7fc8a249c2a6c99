/** Saves a profile in the database, for whoever may. */
import { html, useState } from "../html.js";
import { asValues, own } from "../core/setting.js";
import * as service from "../service/memories.js";
import { useStudio } from "./hooks.js";

const RULE = "At most 51 of a to z, 0 to 9 and _; the first is a letter.";
let saved = null; // a name: the page begins anew with the profiles that there are then

export function Saved() {
  const { address } = useStudio();
  if (!saved || address.values.profile !== saved) return null;
  return html`<p class="done" role="status">Saved as ${saved}.</p>`;
}

/** The page goes on with the saved profile, whose sliders begin anew. */
export function SaveProfile({ found }) {
  const { go, retry, may } = useStudio();
  const [failed, setFailed] = useState(null);
  if (!may("maintain")) return null;
  const save = async (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get("name").trim();
    try {
      await service.saveProfile(name, { ...found, name });
      saved = name;
      go({ values: { ...asValues(own(found), found), profile: name } });
      retry();
    } catch (problem) {
      setFailed(problem.message);
    }
  };
  return html`<form class="row" onSubmit=${save}>
    <label class="field">Save as profile
      <input name="name" required maxlength="51" pattern="[a-z][a-z0-9_]*" title=${RULE} placeholder="name"
        autocomplete="off" aria-describedby="rule-of-names" /></label>
    <button type="submit">Save</button>
    <small id="rule-of-names">${RULE}</small>
    ${failed && html`<p class="problem" role="alert">${failed}</p>`}
  </form>`;
}
