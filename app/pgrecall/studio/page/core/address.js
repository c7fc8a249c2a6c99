/**
 * The state of the page is its address: everything behind #, which no server's log sees.
 *
 * #ask?owner=ines&q=tea&profile=hybrid&k=10&w.keyword=0.5&half_life=30
 */
export const VIEWS = ["ask", "compare", "judge", "browse", "memory"];

const ID = /^[\w-]+$/; // nothing that would lead a request to another path
const MOMENTS = ["as_of", "after", "before"];

/** Anybody may write an address: what can be no id and no moment is left out. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  const [first, second = ""] = path.split("/");
  const id = ID.test(second) ? second : null;
  const view = VIEWS.includes(first) ? first : "ask";
  const values = [...new URLSearchParams(query)].filter(
    ([name, value]) => !MOMENTS.includes(name) || !Number.isNaN(Date.parse(value)),
  );
  return { view: view === "memory" && !id ? "browse" : view, id, values: Object.fromEntries(values) };
}

/** The address of a view with these values; empty ones are left out. */
export function write({ view, id = null, values }) {
  const kept = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `#${view}${id ? `/${encodeURIComponent(id)}` : ""}${query ? `?${query}` : ""}`;
}

/** An owner's name: that of an agent, or team:NAME. */
export function ownerOf(memory) {
  return memory.team_id ? `team:${memory.team_id}` : memory.agent_id;
}

/** The address of a memory's page. A team's memory may be among the hits of another owner. */
export function writeMemory(memory, owner, values) {
  const of = ownerOf(memory);
  return write({ view: "memory", id: memory.id, values: { ...values, of: of === owner ? null : of } });
}

/** The weights among the values, w.keyword=0.5; null if there are none. */
export function sharesIn(values) {
  const found = Object.entries(values).filter(([name]) => name.startsWith("w."));
  return found.length ? Object.fromEntries(found.map(([name, value]) => [name.slice(2), Number(value)])) : null;
}

/** Weights as values of the address. */
export function sharesAsValues(shares) {
  return Object.fromEntries(Object.entries(shares).map(([name, share]) => [`w.${name}`, share]));
}

export function numberIn(values, name, otherwise) {
  const number = Number(values[name]);
  return values[name] && Number.isFinite(number) ? number : otherwise;
}
