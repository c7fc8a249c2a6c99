/** Hooks that several views share. */
import { createContext, useCallback, useContext, useEffect, useRef, useState } from "../html.js";
import { parse, write } from "../core/address.js";

/** What every view knows: {session, profiles, defaultProfile, owner, may, address, go, announce, retry, cameFrom}. */
export const Studio = createContext(null);

export function useStudio() {
  return useContext(Studio);
}

/** The address, and a function that goes to another one: go({values: {q: "tea"}}). */
export function useAddress() {
  const [address, setAddress] = useState(() => parse(location.hash));
  const first = useRef(location.hash);
  useEffect(() => {
    const follow = () => setAddress(parse(location.hash));
    if (location.hash !== first.current) follow(); // it changed before anybody listened
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
    };
  }, []);
  const go = useCallback((changes, { replace = false } = {}) => {
    const before = parse(location.hash);
    const next = { ...before, id: null, ...changes, values: { ...before.values, ...changes.values } };
    if (!("view" in changes) && !("id" in changes)) next.id = before.id;
    const written = write(next);
    if (written === location.hash) return;
    history[replace ? "replaceState" : "pushState"](null, "", written);
    setAddress(parse(written));
  }, []);
  return [address, go];
}

/**
 * The answer of a request that starts anew whenever `inputs` change. The last answer stays in
 * place meanwhile, so that nothing flickers. `load` is null where there is nothing to ask; it may
 * show a first answer before its last one.
 */
export function useAnswer(load, inputs) {
  const [answer, setAnswer] = useState({ value: null, error: null, isLoading: Boolean(load) });
  useEffect(() => {
    if (!load) {
      setAnswer({ value: null, error: null, isLoading: false });
      return undefined;
    }
    const ended = new AbortController();
    const show = (value) => ended.signal.aborted || setAnswer({ value, error: null, isLoading: true });
    setAnswer((before) => ({ ...before, error: null, isLoading: true }));
    load(ended.signal, show).then(
      (value) => ended.signal.aborted || setAnswer({ value, error: null, isLoading: false }),
      (error) => ended.signal.aborted || setAnswer({ value: null, error, isLoading: false }),
    );
    return () => ended.abort();
  }, inputs);
  return answer;
}

/** The value, once it has not changed for some milliseconds. */
export function useSettled(value, milliseconds) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** Keys of the page: {j: next}. They do nothing while somebody writes. */
export function useKeys(actions) {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const press = (event) => {
      const action = latest.current[event.key];
      if (!action || isWriting(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function isWriting({ target }) {
  return Boolean(target.closest?.("textarea, select, dialog, input:not([type=range])"));
}
