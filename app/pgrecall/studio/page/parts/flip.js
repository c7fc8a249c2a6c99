/** Shows what moved: each row slides from where it was to where it is. */
import { useLayoutEffect, useRef } from "../html.js";

const MOST_ROWS = 40; // more would not be seen, and cost time
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** For a list whose children have data-id. `order` is anything that changes with the order. */
export function useSlidingRows(list, order) {
  const tops = useRef(new Map());
  useLayoutEffect(() => {
    if (!list.current) return;
    const rows = [...list.current.children].slice(0, MOST_ROWS);
    const now = new Map(rows.map((row) => [row.dataset.id, row.offsetTop]));
    if (!calm.matches) rows.forEach((row) => slide(row, tops.current.get(row.dataset.id), now.get(row.dataset.id)));
    tops.current = now;
  }, [order]);
}

function slide(row, before, after) {
  if (before === undefined || before === after) return;
  row.animate([{ transform: `translateY(${before - after}px)` }, { transform: "none" }], {
    duration: 220,
    easing: "cubic-bezier(.2, .8, .3, 1)",
  });
}
