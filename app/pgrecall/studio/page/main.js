/** The page: who is asking, whose memories these are, and which view is open. */
import { html, render, useCallback, useMemo, useRef, useState } from "./html.js";
import { Obstacle, OtherVersion } from "./parts/obstacle.js";
import { Studio, useAddress, useAnswer } from "./parts/hooks.js";
import { Shell } from "./parts/shell.js";
import { takeFromAddress } from "./service/key.js";
import * as service from "./service/memories.js";

/** Each is loaded when it is opened first. */
const VIEWS = {
  ask: () => import("./views/ask.js"),
  compare: () => import("./views/compare.js"),
  judge: () => import("./views/judge.js"),
  browse: () => import("./views/browse.js"),
  memory: () => import("./views/memory.js"),
};
const RANKS = ["read", "write", "maintain"];

function App() {
  const [attempt, setAttempt] = useState(0);
  const retry = useCallback(() => setAttempt((before) => before + 1), []);
  const began = useAnswer(
    (signal) => Promise.all([service.session(signal), service.profiles(signal)]),
    [attempt],
  );
  if (began.error) {
    return html`<main class="alone">
      <h1>pgrecall studio</h1><${Obstacle} problem=${began.error} retry=${retry} />
    </main>`;
  }
  if (!began.value) return html`<p class="loading">Loading …</p>`;
  const [session, listed] = began.value;
  return html`<${Open} key=${attempt} session=${session} listed=${listed} retry=${retry} />`;
}

function Open({ session, listed, retry }) {
  const [address, go] = useAddress();
  const [said, announce] = useState("");
  const cameFrom = useRef("ask"); // the view before a memory's page
  if (address.view !== "memory") cameFrom.current = address.view;
  const owner = address.values.owner ?? session.owners?.[0] ?? session.default_owner;
  const studio = useMemo(
    () => ({
      session, owner, address, go, announce, retry,
      cameFrom: cameFrom.current,
      profiles: listed.profiles,
      defaultProfile: listed.default,
      /** May this key do what needs this scope? The service decides; this only hides buttons. */
      may: (scope) => RANKS.indexOf(session.scope) >= RANKS.indexOf(scope),
    }),
    [session, listed, owner, address, go, retry],
  );
  return html`<${Studio.Provider} value=${studio}>
    <${Shell} said=${said}>
      <${Loaded} key=${address.view} view=${address.view} of=${`${address.id}/${owner}`} />
    <//>
  <//>`;
}

/** `of` is what the view is of: of something else, it begins anew. */
function Loaded({ view, of }) {
  const { value: module, error } = useAnswer(() => VIEWS[view](), []);
  if (error) return html`<${OtherVersion} />`;
  return module ? html`<${module.View} key=${of} />` : html`<p class="loading">Loading …</p>`;
}

takeFromAddress();
render(html`<${App} />`, document.getElementById("studio"));
