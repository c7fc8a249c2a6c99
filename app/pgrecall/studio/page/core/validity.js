/** Whether a memory can still be found, and what is said of one that cannot. */
import { date } from "./format.js";

const isPast = (moment, now) => Boolean(moment) && new Date(moment) <= now;

/** "Superseded on 5 May 2026"; null while it can be found. */
export function endOf(memory, now = Date.now()) {
  const { superseded_by: successor, invalidated_at: invalidated, valid_until: until, expires_at: expires } = memory;
  const ended = invalidated ?? until;
  if (successor && (!ended || isPast(ended, now))) return `Superseded${ended ? ` on ${date(ended)}` : ""}`;
  if (isPast(invalidated, now)) return `Invalidated on ${date(invalidated)}`;
  if (isPast(until, now)) return `Valid until ${date(until)}`;
  if (isPast(expires, now)) return `Expired on ${date(expires)}`;
  return memory.status === "archived" ? "Archived" : null;
}
