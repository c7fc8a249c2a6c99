/** Requests to the service that this page came from, and to no other. */
import { key } from "./key.js";

const ROOT = new URL("../../", import.meta.url); // the page's files are in ROOT/studio/

/** An answer that is no success; status 0: there was none. */
export class Problem extends Error {
  constructor(status, detail, kind = "about:blank", fields = []) {
    super(detail);
    this.status = status;
    this.kind = kind;
    this.fields = fields;
  }
}

/** The JSON of an answer. Raises Problem. `owner` goes into the URL, beside `search`. */
export async function request(path, options = {}) {
  const response = await sent(path, options);
  return response.status === 204 ? null : response.json();
}

/** The values that a long request answers line by line. */
export async function* lines(path, options = {}) {
  const response = await sent(path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) yield parsedLine(part);
  }
}

function parsedLine(text) {
  const value = JSON.parse(text);
  if (value.problem) throw problemOf(value.problem, value.problem.status ?? 500);
  return value;
}

async function sent(path, { method = "GET", body, owner, search = {}, signal }) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries({ ...search, owner })) {
    for (const one of [value].flat()) if (one !== undefined && one !== null) url.searchParams.append(name, one);
  }
  const headers = key() ? { Authorization: `Bearer ${key()}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const content = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(url, { method, headers, body: content, signal }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The service does not answer.");
  });
  if (!response.ok) throw problemOf(await response.json().catch(() => ({})), response.status);
  return response;
}

function problemOf(body, status) {
  const fields = body.errors ?? [];
  const named = fields.map((one) => `${one.field.replace(/^body\./, "")}: ${one.message}`).join("; ");
  const said = named || body.detail || body.title || `The service answered ${status}.`;
  return new Problem(status, said, body.type, fields);
}
