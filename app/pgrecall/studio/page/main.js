/** The page: who is asking, whose memories these are, and which view is open. */
import { html, render, useCallback, useMemo, useState } from "./html.js";
import { Obstacle } from "./parts/obstacle.js";
import { Studio, useAddress, useAnswer } from "./parts/hooks.js";
import { Shell } from "./parts/shell.js";
import { keep, takeFromAddress } from "./service/key.js";
import * as service from "./service/memories.js";
import { AskView } from "./views/ask.js";
import { BrowseView } from "./views/browse.js";
import { CompareView } from "./views/compare.js";
import { JudgeView } from "./views/judge.js";
import { MemoryView } from "./views/memory.js";
import { UpkeepView } from "./views/upkeep.js";

const VIEWS = {
  ask: AskView,
  compare: CompareView,
  judge: JudgeView,
  upkeep: UpkeepView,
  browse: BrowseView,
  memory: MemoryView,
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
  const owner = address.values.owner ?? session.owners?.[0] ?? session.default_owner;
  const studio = useMemo(
    () => ({
      session, owner, address, go, announce, retry,
      profiles: listed.profiles,
      defaultProfile: listed.default,
      /** May this key do what needs this scope? The service decides; this only hides buttons. */
      may: (scope) => RANKS.indexOf(session.scope) >= RANKS.indexOf(scope),
      forget: () => { keep(null); retry(); },
    }),
    [session, listed, owner, address, go, retry],
  );
  const View = VIEWS[address.view];
  return html`<${Studio.Provider} value=${studio}>
    <${Shell} said=${said}><${View} key=${`${address.view}/${address.id}/${owner}`} /><//>
  <//>`;
}

takeFromAddress();
render(html`<${App} />`, document.getElementById("studio"));
