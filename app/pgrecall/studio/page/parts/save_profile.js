/** Saves a profile in the database, for whoever may. */
import { html, useState } from "../html.js";
import { asValues, own } from "../core/setting.js";
import * as service from "../service/memories.js";
import { useStudio } from "./hooks.js";

/** The page goes on with the saved profile, whose sliders begin anew. */
export function SaveProfile({ found }) {
  const { go, retry, announce, may } = useStudio();
  const [failed, setFailed] = useState(null);
  if (!may("maintain")) return null;
  const save = async (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get("name").trim();
    try {
      await service.saveProfile(name, { ...found, name });
      announce(`Saved as ${name}.`);
      go({ values: { ...asValues(own(found), found), profile: name } });
      retry();
    } catch (problem) {
      setFailed(problem.message);
    }
  };
  return html`<form class="row" onSubmit=${save}>
    <label class="field">Save as profile
      <input name="name" required maxlength="40" placeholder="name" autocomplete="off" /></label>
    <button type="submit">Save</button>
    ${failed && html`<p class="problem" role="alert">${failed}</p>`}
  </form>`;
}
