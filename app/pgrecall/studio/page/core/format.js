/** Numbers, dates and ages as they are shown. */

const DAY = 86_400_000;
const UNITS = [[365.25, "y"], [30.44, "mo"], [7, "wk"], [1, "d"]];
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const whole = new Intl.NumberFormat();

/** ".12", "1.00": as short as a share can be. */
export function share(number, digits = 2) {
  const text = Math.abs(number).toFixed(digits);
  const isNegative = number < 0 && Number(text) !== 0;
  return (isNegative ? "−" : "") + (text.startsWith("0") ? text.slice(1) : text);
}

export function signed(number) {
  return number >= 0 ? `+${share(number)}` : share(number);
}

export function percent(number) {
  return `${Math.round(number * 100)} %`;
}

export function count(number) {
  return whole.format(number);
}

/** "1 memory", "3 memories" */
export function counted(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

export function date(moment) {
  return moment ? dates.format(new Date(moment)) : "unknown";
}

export function time(moment) {
  return moment ? moments.format(new Date(moment)) : "unknown";
}

export function ageInDays(moment, now = Date.now()) {
  return moment ? Math.max(0, (now - new Date(moment)) / DAY) : null;
}

const MOMENTS = /\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)/g;
const LONG_NUMBERS = /\b\d+\.\d{4,}\b/g;

/** A sentence of the service, with moments and numbers as the page shows them. */
export function readable(text) {
  return text
    .replace(MOMENTS, (moment) => time(moment.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00")))
    .replace(LONG_NUMBERS, (number) => share(Number(number), 3))
    .replace("invalidated_at", "invalidated on")
    .replace("invalidation_reason", "reason");
}

/** "5 mo", "today"; "?" for an unknown age. */
export function age(moment, now = Date.now()) {
  const days = ageInDays(moment, now);
  if (days === null) return "?";
  return days < 1 ? "today" : span(days);
}

/** Days in the largest unit that they fill. */
export function span(days) {
  for (const [length, unit] of UNITS) {
    if (days < length * 1.5 && unit !== "d") continue;
    const digits = days < 3 ? 1 : 0;
    return `${whole.format(Number((days / length).toFixed(digits)))} ${unit}`;
  }
}

const IN_DAYS = 120;

/** A half-life, in days as long as people count these. */
export function halfLife(days) {
  return days < IN_DAYS ? `${whole.format(Number(days.toPrecision(2)))} d` : span(days);
}

/** A moment as the value of an <input type="datetime-local">, and back. */
export function toInput(moment) {
  if (!moment) return "";
  const local = new Date(moment);
  local.setMinutes(local.getMinutes() - local.getTimezoneOffset());
  return local.toISOString().slice(0, 16);
}

export function fromInput(value) {
  return value ? new Date(value).toISOString() : null;
}
