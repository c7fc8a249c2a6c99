/** What can be asked about memories, and what can be done to them: one function for each route. */
import { request } from "./requests.js";

const post = (path, owner, body, signal) => request(path, { method: "POST", owner, body, signal });
const to = (id, verb = "") => `memories/${id}${verb && `/${verb}`}`;

export const session = (signal) => request("key", { signal });
export const profiles = (signal) => request("profiles", { signal });
export const owners = (search, signal) => request("owners", { search, signal });

export const candidates = (owner, body, signal) => post("candidates", owner, body, signal);
export const explain = (owner, body, signal) => post("explain", owner, body, signal);

export const memories = (owner, search, signal) => request("memories", { owner, search, signal });
export const memory = (owner, id, signal) => request(to(id), { owner, signal });
export const history = (owner, id, signal) => request(to(id, "history"), { owner, signal });
export const links = (owner, id, signal) => request(to(id, "links"), { owner, signal });

export const update = (owner, id, body) => request(to(id), { method: "PATCH", owner, body });
export const act = (owner, id, verb, body) => post(to(id, verb), owner, body);
export const erase = (owner, id) => request(to(id), { method: "DELETE", owner, search: { erase: true } });

export const judgements = (owner, signal) => request("judgements", { owner, signal });
export const judge = (owner, body) => post("judgements", owner, body);
export const evaluate = (owner, body, signal) => post("evaluate", owner, body, signal);
