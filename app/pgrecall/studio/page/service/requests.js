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
export async function request(path, { method = "GET", body, owner, search = {}, signal } = {}) {
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
  return response.json();
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
