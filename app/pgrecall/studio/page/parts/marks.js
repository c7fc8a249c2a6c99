/** Judgements of hits: whether they answer the question. They become judged queries. */
import { Fragment, html, useEffect, useRef, useState } from "../html.js";
import * as service from "../service/memories.js";
import { useKeys, useStudio } from "./hooks.js";

const SAID = { true: "answers", false: "does not answer" };

/** {marks: those of one question, {memory id: true | false}, mark: sets one, takeBack: the last one, failed}. */
export function useMarks(question, judged, changed) {
  const { owner, announce } = useStudio();
  const [marks, setMarks] = useState({});
  const [failed, setFailed] = useState(null);
  const made = useRef([]); // [id, what its mark was before], the last one last
  useEffect(() => setMarks(marksOf(question, judged)), [question, judged]);
  useEffect(() => {
    made.current = [];
  }, [question]);
  const set = async (id, answers) => {
    const before = marks;
    setFailed(null);
    setMarks({ ...marks, [id]: answers }); // at once; taken back if the service refuses
    try {
      await service.judge(owner, { memory_id: id, query: question, answers });
      announce(SAID[answers] ?? "no longer judged");
      changed();
    } catch (problem) {
      setMarks(before);
      setFailed(problem.message);
    }
  };
  const mark = (id, answers) => {
    made.current.push([id, marks[id] ?? null]);
    return set(id, answers);
  };
  /** Takes back the last mark, and returns the memory that it was of. */
  const takeBack = () => {
    const [id, before] = made.current.pop() ?? [];
    if (id) set(id, before);
    return id;
  };
  return { marks, mark, takeBack, failed };
}

function marksOf(question, judged) {
  const found = judged.find((one) => one.query === question);
  const marks = (ids, answers) => (ids ?? []).map((id) => [id, answers]);
  return Object.fromEntries([...marks(found?.relevant, true), ...marks(found?.irrelevant, false)]);
}

/** j and k move, y and n mark, u takes the last mark back, ? shows these keys. `mark` is null where none may. */
export function useJudgingKeys(hits, mark, takeBack, list) {
  const [at, setAt] = useState(0);
  const [isHelpOpen, setHelp] = useState(false);
  const current = hits[Math.min(at, hits.length - 1)];
  const move = (by) => moveTo(at + by);
  const moveTo = (place) => {
    const next = Math.max(0, Math.min(hits.length - 1, place));
    setAt(next);
    const row = list.current?.children[next];
    row?.scrollIntoView({ block: "nearest" });
    row?.querySelector("button[aria-pressed]")?.focus();
  };
  const set = (answers) => {
    if (!current || !mark) return;
    mark(current.id, answers);
    move(1);
  };
  const back = () => {
    const id = mark && takeBack();
    const place = hits.findIndex((hit) => hit.id === id);
    if (place >= 0) moveTo(place);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    y: () => set(true),
    n: () => set(false),
    u: back,
    "?": () => setHelp(!isHelpOpen),
  });
  return { current, setAt, moveTo, isHelpOpen, setHelp };
}

export function Marks({ value, mark }) {
  const button = (answers, label, sign) => html`<button type="button" class=${answers ? "yes" : "no"}
    aria-pressed=${value === answers} title=${label} aria-label=${label}
    onClick=${() => mark(value === answers ? null : answers)}>${sign}</button>`;
  return html`<div class="marks">${button(true, "Answers", "✓")}${button(false, "Does not answer", "✗")}</div>`;
}

const KEYS = {
  j: "next hit",
  k: "hit before",
  y: "it answers",
  n: "it does not answer",
  u: "take the last mark back",
  "?": "these keys",
};

export function KeyHelp({ close }) {
  return html`<section class="panel" aria-label="Keys">
    <dl class="facts keys">
      ${Object.entries(KEYS).map(
        ([name, what]) => html`<${Fragment} key=${name}><dt><kbd>${name}</kbd></dt><dd>${what}</dd><//>`,
      )}
    </dl>
    <button type="button" onClick=${close}>Close</button>
  </section>`;
}
