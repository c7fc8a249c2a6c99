/** Work that takes long: it shows how far it is, and can be stopped. */
import { html, useEffect, useRef, useState } from "../html.js";
import { ofQuestions } from "../core/format.js";
import { Obstacle } from "./obstacle.js";
import { useStudio } from "./hooks.js";

const IDLE = { progress: null, result: null, error: null, isRunning: false };

/** start(work): work(signal) yields {done, of} and at last {result}. */
export function useLongWork() {
  const { announce } = useStudio();
  const [state, setState] = useState(IDLE);
  const running = useRef(null);
  useEffect(() => () => running.current?.abort(), []);
  const start = async (work) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setState({ ...IDLE, isRunning: true });
    try {
      for await (const line of work(controller.signal)) {
        if ("result" in line) setState({ ...IDLE, result: line.result });
        else setState((before) => ({ ...before, progress: line }));
      }
      announce("Done.");
    } catch (error) {
      if (!controller.signal.aborted) setState({ ...IDLE, error });
    }
  };
  /** Forgets what it found, too. */
  const stop = () => {
    running.current?.abort();
    setState(IDLE);
  };
  return { ...state, start, stop };
}

export function Progress({ work, label }) {
  if (work.error) {
    return html`<${Obstacle} problem=${{ ...work.error, message: ofQuestions(work.error.message) }} />`;
  }
  if (!work.isRunning) return null;
  const { done, of } = work.progress ?? {};
  const isKnown = of > 1; // of one piece of work, nobody knows how far it is
  return html`<div class="row progress">
    <label>
      ${label}${isKnown ? `: ${done} of ${of}` : " …"}
      <progress value=${isKnown ? done : undefined} max=${isKnown ? of : 1}></progress>
    </label>
    <button type="button" onClick=${work.stop}>Stop</button>
  </div>`;
}
