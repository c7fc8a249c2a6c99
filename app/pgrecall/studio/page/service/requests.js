/** Requests to the service that this page came from, and to no other. */
import { key } from "./key.js";

const ROOT = new URL(".", document.baseURI); // the page is ROOT/studio

/** An answer that is no success; status 0: there was none. */
class Problem extends Error {
  constructor(status, detail, kind = "about:blank") {
    super(detail);
    this.status = status;
    this.kind = kind;
  }
}

/** The JSON of an answer. Raises Problem. `owner` goes into the URL, beside `search`. */
export async function request(path, options = {}) {
  return (await sent(path, options)).json();
}

/** The values that a long request answers line by line, of which the last one has the result. */
export async function* lines(path, options = {}) {
  const response = await sent(path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Problem(0, "The service ended before the work did.");
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const line of parts.map((part) => JSON.parse(part))) {
      if (line.problem) throw problemOf(line.problem, line.problem.status);
      yield line;
      if ("result" in line) return;
    }
  }
}

async function sent(path, { method = "GET", body, owner, search = {}, signal }) {
  const headers = key() ? { Authorization: `Bearer ${key()}` } : {};
  const options = { method, headers, signal };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(address(path, { ...search, owner }), options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The service does not answer.");
  });
  if (!response.ok) throw problemOf(await response.json().catch(() => ({})), response.status);
  return response;
}

/** A list is written as several values of its name, and what is undefined not at all. */
function address(path, values) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(values)) {
    const several = value === undefined ? [] : [value].flat();
    several.forEach((one) => url.searchParams.append(name, typeof one === "object" ? JSON.stringify(one) : one));
  }
  return url;
}

function problemOf(body, status) {
  const fields = body.errors ?? [];
  const named = fields.map((one) => `${one.field.replace(/^body\./, "")}: ${one.message}`).join("; ");
  const said = named || body.detail || body.title || `The service answered ${status}.`;
  return new Problem(status, said, body.type);
}
