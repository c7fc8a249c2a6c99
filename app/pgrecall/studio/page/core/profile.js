/** Profiles as definitions: plain values, as in a profile file. */
import { rounded, sharesOf } from "./shares.js";

const IDENTITY = ["name", "built_in", "installed"];

/** A listed profile without what the list says about it. */
export function definition(listed) {
  const { built_in: _, installed: __, ...rest } = listed;
  return rest;
}

/** A profile as a request names it: a built-in one by its name, any other by its definition. */
export function named(profile) {
  return profile.built_in ? profile.name : definition(profile);
}

/** The profile with these weights and this half-life, under a name. */
export function changed(profile, { shares, halfLife = null, name }) {
  const weights = rounded(shares);
  const signals = Object.fromEntries(
    Object.entries(profile.signals).map(([one, signal]) => [one, { ...signal, weight: weights[one] }]),
  );
  const found = { ...definition(profile), name, signals };
  if (halfLife === null) return found;
  if (signals.recency) signals.recency = lasting(signals.recency, halfLife);
  else if (found.decay) found.decay = lasting(found.decay, halfLife);
  return found;
}

/** One half-life for all memories. */
function lasting(recency, days) {
  const { rate: _, half_lives_by_type: __, half_lives_by_tier: ___, ...rest } = recency;
  return { ...rest, half_life: days };
}

export function toToml(profile) {
  const top = Object.entries(profile).filter(([key]) => key !== "signals" && key !== "decay");
  const tables = Object.entries(profile.signals).map(([name, values]) => [`signals.${name}`, values]);
  if (profile.decay) tables.unshift(["decay", profile.decay]);
  const lines = pairs(top);
  for (const [name, values] of tables) lines.push("", `[${name}]`, ...pairs(Object.entries(values)));
  return `${lines.join("\n")}\n`;
}

function pairs(entries) {
  return entries.map(([key, value]) => `${key} = ${tomlValue(value)}`);
}

function tomlValue(value) {
  if (value !== null && typeof value === "object") {
    const inner = Object.entries(value).map(([key, one]) => `${tomlValue(key)} = ${tomlValue(one)}`);
    return `{ ${inner.join(", ")} }`;
  }
  return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
}

export function toPython(profile) {
  const own = Object.values(profile.signals).some(isOwn);
  const names = new Set(["Profile", ...Object.entries(profile.signals).map(kindOf)]);
  if (profile.decay) names.add("Decay").add("Recency");
  if (own) names.add("Attribute");
  const signals = Object.entries(profile.signals).map(pythonSignal);
  const settings = Object.entries(profile)
    .filter(([key]) => !IDENTITY.includes(key) && key !== "signals" && key !== "decay")
    .map(([key, value]) => `    ${key}=${pythonValue(value)},\n`);
  if (profile.decay) settings.push(`    decay=${pythonDecay(profile.decay)},\n`);
  return (
    `from pgrecall import ${[...names].sort().join(", ")}\n\n` +
    `profile = Profile(\n    ${pythonValue(profile.name)},\n    {\n${signals.join("")}    },\n` +
    `${settings.join("")})\nhits = repo.search(agent_id, query, profile=profile)\n`
  );
}

function isOwn(signal) {
  return "metadata" in signal;
}

function kindOf([name, signal]) {
  if (isOwn(signal)) return "Attribute";
  return name.split("_").map((part) => part[0].toUpperCase() + part.slice(1)).join("");
}

function pythonSignal([name, { weight, ...parameters }]) {
  const given = isOwn(parameters) ? { name, ...parameters } : parameters;
  return `        ${kindOf([name, parameters])}(${pythonArguments(given)}): ${weight},\n`;
}

function pythonDecay({ floor, ...recency }) {
  return `Decay(Recency(${pythonArguments(recency)})${floor ? `, floor=${floor}` : ""})`;
}

function pythonArguments(values) {
  return Object.entries(values).map(([key, value]) => `${key}=${pythonValue(value)}`).join(", ");
}

function pythonValue(value) {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value !== null && typeof value === "object") {
    const inner = Object.entries(value).map(([key, one]) => `${pythonValue(key)}: ${pythonValue(one)}`);
    return `{${inner.join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** The same ranking in psql: a named profile, with weights and a half-life of this question. */
export function toSql(found, { owner, profile, query, k, halfLife = null }) {
  const given = [
    sqlText(owner),
    `keywords => ${sqlText(query)}`,
    `k => ${k}`,
    `profile => ${sqlText(profile)}`,
    `weights => ${sqlText(JSON.stringify(sharesOf(found)))}`,
  ];
  if (halfLife !== null) given.push(`half_life => ${halfLife}`);
  return [
    "-- psql has no embedder: with query => '[…]', the question's vector, similarity counts, too",
    "SELECT score, content",
    `  FROM pgrecall.recall(${given.join(",\n       ")});\n`,
  ].join("\n");
}

function sqlText(text) {
  return `'${text.replaceAll("'", "''")}'`;
}
