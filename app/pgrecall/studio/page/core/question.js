/** The body of a request about a question, from the values of the address. */
import { numberIn } from "./address.js";
import { time } from "./format.js";

/** Filters of the address: the name in the address, that of the service, and what it is. */
export const FILTERS = [
  { name: "types", argument: "memory_types", label: "Types", isList: true },
  { name: "tags", argument: "tags", label: "Tags", isList: true },
  { name: "entities", argument: "entities", label: "Entities", isList: true },
  { name: "tiers", argument: "tiers", label: "Tiers", isList: true, example: "short, medium, long" },
  { name: "text", argument: "text", label: "Words that must occur", isList: false },
  { name: "metadata", argument: "metadata", label: "Metadata", isJson: true, example: '{"team": "red"}' },
  { name: "trust", argument: "min_trust", label: "Trust, at least", isNumber: true },
  { name: "after", argument: "created_after", label: "Dated after", isDate: true },
  { name: "before", argument: "created_before", label: "Dated before", isDate: true },
];
export const MOST_HITS = 300;
export const EVERY_STATUS = ["active", "pending", "consolidated", "completed", "archived"];

export function filtersIn(values) {
  const found = {};
  for (const filter of FILTERS) {
    if (values[filter.name]) found[filter.argument] = valueOf(filter, values[filter.name]);
  }
  if (values.invalid) found.include_invalid = true;
  return found;
}

/** What narrows or widens the hits: [{name: in the address, text}]. */
export function inForce(values) {
  const shown = (filter) => (filter.isDate ? time(values[filter.name]) : values[filter.name]);
  const found = FILTERS.filter(({ name }) => values[name]).map((one) => ({ name: one.name, text: `${one.label}: ${shown(one)}` }));
  if (values.teams) found.push({ name: "teams", text: `Teams: ${values.teams}` });
  if (values.invalid) found.push({ name: "invalid", text: "also what is no longer valid" });
  if (values.as_of) found.push({ name: "as_of", text: `as of ${time(values.as_of)}` });
  return found;
}

/** Text that is no JSON goes as it is: the service says what is wrong with it. */
function valueOf({ isList, isNumber, isJson }, text) {
  if (isList) return listed(text);
  if (isNumber) return Number(text);
  return isJson && isJsonObject(text) ? JSON.parse(text) : text;
}

export function isJsonObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Without an embedder, a question is compared by its words alone. */
export function questionIn(values, hasEmbedder) {
  const body = { [hasEmbedder ? "query" : "keywords"]: values.q, ...filtersIn(values) };
  if (values.teams) body.teams = listed(values.teams);
  if (values.as_of) body.as_of = values.as_of;
  return body;
}

export function hitsIn(values) {
  return Math.min(MOST_HITS, Math.max(1, Math.round(numberIn(values, "k", 10))));
}

export function listed(text) {
  return text.split(",").map((one) => one.trim()).filter(Boolean);
}
