/** Preact and htm as one: the templates of every part. */
import { Fragment, createContext, h } from "./libraries/preact.js";
import htm from "./libraries/htm.js";

export { Fragment, createContext };
export { render } from "./libraries/preact.js";
export * from "./libraries/preact-hooks.js";
export const html = htm.bind(h);
