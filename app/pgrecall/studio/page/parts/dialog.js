/** A question before something is done. It says what will happen, and how to take it back. */
import { html, useEffect, useRef, useState } from "../html.js";

/** `act` gets the form's values, and may raise: then the dialog stays and says why. */
export function Dialog({ title, says, undo, action, isDangerous = false, act, close, children }) {
  const dialog = useRef(null);
  const [state, setState] = useState({ isBusy: false, failed: null });
  useEffect(() => dialog.current.showModal(), []);
  const leave = () => dialog.current.close(); // gives the focus back to what opened it
  const submit = async (event) => {
    event.preventDefault();
    setState({ isBusy: true, failed: null });
    try {
      await act(Object.fromEntries(new FormData(event.target)));
      leave();
    } catch (problem) {
      setState({ isBusy: false, failed: problem.message });
    }
  };
  return html`<dialog ref=${dialog} aria-labelledby="dialog-title" onClose=${close}>
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${title}</h2>
      <p>${says}</p>
      ${children}
      <p class="undo"><b>To take it back:</b> ${undo}</p>
      ${state.failed && html`<p class="problem" role="alert">${state.failed}</p>`}
      <div class="buttons">
        <button type="submit" class=${isDangerous ? "danger" : "main"} disabled=${state.isBusy}>${action}</button>
        <button type="button" onClick=${leave}>Leave it</button>
      </div>
    </form>
  </dialog>`;
}
