/** What can be done to a memory. Each says before what it will do; the last one can be undone. */
import { html, useEffect, useRef, useState } from "../html.js";
import * as service from "../service/memories.js";
import { listed } from "../core/question.js";
import { Dialog } from "./dialog.js";
import { useStudio } from "./hooks.js";

const isWaiting = (memory) => memory.status === "pending" || memory.needs_review;
const isAway = (memory) => Boolean(memory.invalidated_at) || memory.status === "archived";

const CHANGES = [
  {
    name: "Edit", action: "Save", scope: "write", isFor: () => true, Fields: EditFields,
    says: "The memory gets these values; a new text is embedded anew. The history keeps the old ones.",
    undo: "“Undo” writes the old values back.",
    act: (owner, memory, given) => service.update(owner, memory.id, edited(memory, given)),
    revert: (owner, memory) => service.update(owner, memory.id, valuesOf(memory)),
  },
  {
    name: "Supersede", scope: "write", isFor: (memory) => !isAway(memory), Fields: SupersedeFields,
    says: "A new memory takes its place, with the same tags, session and other fields. This one keeps its key, links and history, and is no longer recalled. Trust, outcomes and counters of the new one begin anew.",
    undo: "Invalidate the new memory, then revive this one.",
    act: (owner, memory, given) =>
      service.act(owner, memory.id, "supersede", { new: successorOf(memory, given), ...reasonOf(given.reason) }),
  },
  {
    name: "Invalidate", scope: "write", isFor: (memory) => !isAway(memory), Fields: ReasonField,
    says: "It is no longer recalled. It stays stored, with its history.",
    undo: "“Undo” or Revive brings it back.",
    act: (owner, memory, { reason }) => service.act(owner, memory.id, "invalidate", reasonOf(reason)),
    revert: (owner, memory) => service.act(owner, memory.id, "revive", {}),
  },
  {
    name: "Revive", scope: "write", isFor: isAway, Fields: ReasonField,
    says: "It can be recalled again: active, without its invalidation and without an expiry in the past.",
    undo: "Invalidate it again.",
    act: (owner, memory, { reason }) => service.act(owner, memory.id, "revive", reasonOf(reason)),
  },
  {
    name: "Approve", scope: "write", isFor: isWaiting, Fields: ReasonField,
    says: "It becomes active and loses its mark for review. An older memory of the same text is superseded.",
    undo: "Invalidate it.",
    act: (owner, memory, { reason }) => service.act(owner, memory.id, "approve", reasonOf(reason)),
  },
  {
    name: "Reject", scope: "write", isFor: isWaiting, Fields: ReasonField,
    says: "It is archived: stored, and not recalled.",
    undo: "“Undo” or Revive makes it active after all.",
    act: (owner, memory, { reason }) => service.act(owner, memory.id, "reject", reasonOf(reason)),
    revert: (owner, memory) => service.act(owner, memory.id, "revive", {}),
  },
  {
    name: "Erase", scope: "maintain", isFor: () => true, isDangerous: true, Fields: SureField,
    says: "The memory, its history, its counters and links are removed for good, as a person may demand.",
    undo: "There is no way back, except from a backup.",
    act: (owner, memory) => service.erase(owner, memory.id),
    isLast: true,
  },
];

/** `changed` is called after each change; `memory` is as it was before. */
export function Changes({ memory, changed }) {
  const { may, owner, announce, go } = useStudio();
  const [chosen, choose] = useState(null);
  const [done, setDone] = useState(null);
  const buttons = useRef(null);
  const undoing = useRef(null);
  useEffect(() => undoing.current?.focus(), [done]);
  const possible = CHANGES.filter((one) => may(one.scope) && one.isFor(memory));
  if (!may("write")) return html`<p><small>This key may read. One with the scope write can change.</small></p>`;
  const act = async (given) => {
    await chosen.act(owner, memory, given);
    announce(`${chosen.name}: done.`);
    if (chosen.isLast) return go({ view: "browse" });
    setDone({ change: chosen, before: memory });
    return changed();
  };
  const undo = async () => {
    await done.change.revert(owner, done.before).catch((problem) => announce(problem.message));
    setDone(null);
    announce("Undone.");
    buttons.current.querySelector("button").focus();
    changed();
  };
  return html`<div class="buttons" ref=${buttons}>
      ${possible.map(
        (one) => html`<button key=${one.name} type="button" class=${one.isDangerous ? "danger" : ""}
          onClick=${() => choose(one)}>${one.name} …</button>`,
      )}
    </div>
    ${done && html`<p class="done">
      ${done.change.name}: done.
      ${done.change.revert && html` <button type="button" ref=${undoing} onClick=${undo}>Undo</button>`}
    </p>`}
    ${chosen && html`<${Dialog} title=${`${chosen.name} this memory?`} action=${chosen.name} ...${chosen}
      act=${act} close=${() => choose(null)}>
      <${chosen.Fields} memory=${memory} />
    <//>`}`;
}

function EditFields({ memory }) {
  return html`<label class="field">Text<textarea name="content" rows="5" required>${memory.content}</textarea></label>
    <${Described} memory=${memory} />
    <${ReasonField} />`;
}

function Described({ memory: { memory_type: type, importance, tags, entities } }) {
  return html`<div class="row">
      <label class="field">Type<input name="memory_type" required defaultValue=${type} /></label>
      <label class="field">Importance, 0 to 1
        <input name="importance" type="number" min="0" max="1" step="any" required defaultValue=${importance} /></label>
    </div>
    <label class="field">Tags<input name="tags" defaultValue=${tags.join(", ")} placeholder="one, another" /></label>
    <label class="field">Entities
      <input name="entities" defaultValue=${entities.join(", ")} placeholder="one, another" /></label>`;
}

function SupersedeFields({ memory }) {
  return html`<label class="field">The new text
      <textarea name="content" rows="5" required>${memory.content}</textarea></label>
    <${Described} memory=${memory} />
    <${ReasonField} />`;
}

function ReasonField() {
  return html`<label class="field">Reason, for the history
    <input name="reason" maxlength="500" autocomplete="off" /></label>`;
}

function SureField() {
  return html`<label class="check"><input type="checkbox" required /> Remove it for good</label>`;
}

function reasonOf(reason) {
  return reason ? { reason } : {};
}

/** Only what differs, so that the history shows no change that was none. */
function edited(memory, given) {
  const [before, after] = [valuesOf(memory), valuesIn(given)];
  const names = Object.keys(after).filter((name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]));
  return { ...Object.fromEntries(names.map((name) => [name, after[name]])), ...reasonOf(given.reason) };
}

/** The values that a form of these fields holds. */
function valuesIn({ content, memory_type: type, importance, tags, entities }) {
  return { content, memory_type: type, importance: Number(importance), tags: listed(tags), entities: listed(entities) };
}

function valuesOf({ content, memory_type: type, importance, tags, entities }) {
  return { content, memory_type: type, importance, tags, entities };
}

/** What a memory is about; not its times, its key, which is unique, and what is assessed of its very text. */
const KEPT = [
  "additional_types", "memory_nature", "content_type", "tier", "subject", "metadata", "usefulness", "confidence",
  "component", "output_type", "domain", "category", "loop", "expires_at", "session", "turn",
];

/** The new memory has what its form holds, and the other fields of the old one. */
function successorOf(memory, given) {
  const kept = KEPT.filter((name) => memory[name] !== null && memory[name] !== undefined);
  return { ...Object.fromEntries(kept.map((name) => [name, memory[name]])), ...valuesIn(given) };
}
