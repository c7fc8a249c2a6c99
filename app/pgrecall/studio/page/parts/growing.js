/** Draws as many rows of a long list as somebody has scrolled to, so that moving a slider stays fast. */
import { html, useEffect, useRef, useState } from "../html.js";

const STEP = 25;
const AHEAD = "600px"; // drawn before they are seen

/** How many rows to draw, and the element that stands behind them. */
export function useGrowing(length) {
  const [most, setMost] = useState(STEP);
  const end = useRef(null);
  const isMore = most < length;
  useEffect(() => {
    if (!isMore) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => entry.isIntersecting && setMost(most + STEP),
      { rootMargin: AHEAD },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [most, isMore]);
  return [most, isMore && html`<p ref=${end} class="loading">${length - most} more …</p>`];
}
