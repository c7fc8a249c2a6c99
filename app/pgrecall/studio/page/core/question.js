/** The body of a request about a question, from the values of the address. */
import { numberIn } from "./address.js";
import { time } from "./format.js";

/** Filters of the address: the name there, what it compares in a filter, and what it is. */
export const FILTERS = [
  { name: "types", key: "memory_type", operator: "$in", label: "Types", isList: true },
  { name: "tags", key: "tags", operator: "$in", label: "Tags", isList: true },
  { name: "entities", key: "entities", operator: "$in", label: "Entities", isList: true },
  { name: "tiers", key: "tier", operator: "$in", label: "Tiers", isList: true, example: "short, medium, long" },
  { name: "text", key: "content", operator: "$match", label: "Words that must occur" },
  { name: "trust", key: "decayed_trust", operator: "$gte", label: "Trust, at least", isNumber: true },
  { name: "after", key: "created_at", operator: "$gte", label: "Dated after", isDate: true },
  { name: "before", key: "created_at", operator: "$lt", label: "Dated before", isDate: true },
  { name: "filter", label: "Filter, as JSON", isJson: true, example: '{"metadata.team": "red"}' },
];
export const MOST_HITS = 300;
export const EVERY_STATUS = ["active", "pending", "consolidated", "completed", "archived"];

export function filtersSet(values) {
  return FILTERS.filter(({ name }) => values[name]);
}

/** The arguments that filter, from the values and `more` conditions. Each is explained by itself. */
export function filtersIn(values, ...more) {
  const conditions = [...filtersSet(values).map((one) => conditionOf(one, values[one.name])), ...more];
  const found = conditions.length ? { filter: { $and: conditions } } : {};
  return values.inactive ? { ...found, include_inactive: true } : found;
}

/** What narrows or widens the hits: [{name: in the address, text}]. */
export function inForce(values) {
  const shown = (filter) => (filter.isDate ? time(values[filter.name]) : values[filter.name]);
  const found = filtersSet(values).map((one) => ({ name: one.name, text: `${one.label}: ${shown(one)}` }));
  if (values.teams) found.push({ name: "teams", text: `Teams: ${values.teams}` });
  if (values.inactive) found.push({ name: "inactive", text: "also what is inactive or not valid" });
  if (values.as_of) found.push({ name: "as_of", text: `as of ${time(values.as_of)}` });
  return found;
}

/** Text that is no JSON goes as it is: the service says what is wrong with it. */
function conditionOf({ key, operator, isList, isNumber, isJson }, text) {
  if (isJson) return isJsonObject(text) ? JSON.parse(text) : text;
  return { [key]: { [operator]: isList ? listed(text) : isNumber ? Number(text) : text } };
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
