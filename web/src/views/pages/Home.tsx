// Where everything begins: a prompt, what it is sent with, and what to go on
// with instead.

import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import type { Contender } from "../../app/attempts";
import { missingAccounts } from "../../app/accounts";
import { hrefOf } from "../../app/address";
import { begin, BEGINNING } from "../../app/begin";
import { useApp, useHost, useRoute } from "../../app/context";
import { suggestFiles } from "../../app/folder";
import { messageOf } from "../../app/sessions";
import { isTouch } from "../../lib/device";
import type { ProtectedResource, SessionSummary } from "../../protocol/types";
import { pathOf } from "../../protocol/uri";
import { MOST_ATTEMPTS } from "../../state/attempts";
import { NO_DRAFT } from "../../state/drafts";
import { hasNoAgent, INSTALL } from "../../state/installing";
import { recentProjects } from "../../state/projects";
import { knows } from "../../state/search";
import { groupOf, placeOf } from "../../state/sessions";
import { isEmpty } from "../../state/words";
import { Editor } from "../composer/Editor";
import { AgentMark } from "../ui/AgentMark";
import { Ago } from "../ui/Ago";
import { Icon } from "../ui/Icon";
import { StatusDot } from "../ui/StatusDot";
import { Ticked } from "../ui/Ticked";
import { EditorChips, PlaceChips } from "./BeginningChips";
import { useBeginning } from "./useBeginning";
import type { Beginnings } from "./useBeginning";

const AttemptRows = lazy(() => import("./AttemptRows").then((module) => ({ default: module.AttemptRows })));
const InstallAgents = lazy(() => import("./InstallAgents").then((module) => ({ default: module.InstallAgents })));
const SignIn = lazy(() => import("../decide/SignIn").then((module) => ({ default: module.SignIn })));

export function Home() {
  const beginning = useBeginning();
  const route = useRoute();
  const { view } = route;
  const attempts = route.view === "start" ? route.attempts : undefined;
  useEffect(() => {
    // Whoever asked for a new session wants to write; on a phone, a keyboard would cover the rest.
    if (view === "start" && !isTouch()) document.querySelector<HTMLElement>("[data-composer]")?.focus();
  }, [view]);
  return (
    <div className="page home">
      <div className="home-body">
        <h1>What should the agent do?</h1>
        <Prompt key={attempts} beginning={beginning} attempts={attempts} />
        <FirstAgent />
        <Projects beginning={beginning} />
        <Recent />
      </div>
    </div>
  );
}

function Prompt({ beginning, attempts = 1 }: { beginning: Beginnings; attempts?: number }) {
  const host = useHost();
  const { agent, directory, model, config, values, remember } = beginning;
  const { words } = useApp((state) => state.drafts.get(BEGINNING)) ?? NO_DRAFT;
  const isConnected = useApp((state) => state.connected);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [accounts, setAccounts] = useState<ProtectedResource[]>([]);
  const [tries, setTries] = useState<Contender[]>(() => several(attempts));
  const canTry = config?.schema.properties["isolation"]?.enum?.includes("worktree") === true && directory !== undefined;
  const contenders = canTry ? tries : NOBODY;
  const isNothing = isEmpty(words);

  const start = async () => {
    if (isBusy || isNothing || !agent) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const what = { provider: agent.provider, directory, config: values, model };
      if (contenders.length > 1) await import("../../app/attempts").then(({ beginAttempts }) => beginAttempts(host, what, contenders));
      else await begin(host, what);
      remember();
    } catch (error) {
      const missing = missingAccounts(error);
      setAccounts(missing);
      setProblem(missing.length ? undefined : messageOf(error));
    }
    setBusy(false);
  };
  const ask = useCallback((text: string, offset: number) => suggestFiles(host, directory, text, offset), [host, directory]);

  return (
    <section aria-label="New session">
      <Editor
        editor={BEGINNING}
        className="composer-large"
        rows={3}
        isLocked={isBusy}
        placeholder={agent ? `Ask ${agent.displayName} to build, fix or explain something. @ mentions files.` : "Describe a task"}
        ask={ask}
        onSend={() => void start()}
        end={
          <button type="submit" className="icon-button send" disabled={isNothing || !agent || isBusy} aria-busy={isBusy} aria-label="Send and start session" title="Send and start the session (Enter)">
            <Icon name="send" />
          </button>
        }
      >
        <EditorChips beginning={beginning} />
      </Editor>
      <PlaceChips beginning={beginning} attempts={canTry ? Math.max(1, tries.length) : undefined} onAttempts={(next) => setTries(several(next))} />
      {contenders.length > 1 && (
        <Suspense>
          <AttemptRows beginning={beginning} contenders={contenders} onChange={setTries} />
        </Suspense>
      )}
      {isBusy && (
        <p className="home-note muted" role="status">
          <span className="spinner" /> {isConnected ? contenders.length > 1 ? "Starting the sessions…" : "Starting the session…" : "Waiting for the connection…"}
        </p>
      )}
      {problem && (
        <p className="home-note problem" role="alert">
          The session was not started: <Ticked text={problem} />
        </p>
      )}
      {accounts.length > 0 && (
        <Suspense>
          <section className="home-note" aria-label="Sign in">
            <h2>{agent?.displayName ?? "The agent"} wants you to sign in first</h2>
            {accounts.map((resource) => (
              <SignIn key={resource.resource} resource={resource} onDone={() => setAccounts((known) => known.filter((other) => other !== resource))} />
            ))}
          </section>
        </Suspense>
      )}
    </section>
  );
}

const NOBODY: Contender[] = [];

/** As many as are asked for, all as at the editor. */
function several(attempts: number): Contender[] {
  return attempts > 1 ? Array.from({ length: Math.min(attempts, MOST_ATTEMPTS) }, () => ({})) : NOBODY;
}

/** Where there is no agent yet, one can be installed at once. */
function FirstAgent() {
  const root = useApp((state) => state.root);
  const [isMeant, setMeant] = useState(false);
  const isMissing = root !== undefined && knows(root, INSTALL) && hasNoAgent(root.agents);
  // What was installed here is said here, also when there is an agent then.
  if (isMissing && !isMeant) setMeant(true);
  if (!isMeant) return null;
  return (
    <section className="home-agents" aria-label="Install an agent">
      <h2>Install an agent</h2>
      <p className="muted">No agent was found on the machine of the host. These can be installed there:</p>
      <Suspense>
        <InstallAgents />
      </Suspense>
    </section>
  );
}

const MOST_PROJECTS = 4;

/** Where work was done lately: one click, and the prompt is about that. */
function Projects({ beginning: { directory, setDirectory } }: { beginning: Beginnings }) {
  const projects = recentProjects(useApp((state) => state.sessions));
  if (projects.length < 2) return null;
  return (
    <section className="home-projects" aria-label="Recent projects">
      {projects.slice(0, MOST_PROJECTS).map(({ uri, name, usedAt }) => (
        <button
          key={uri}
          type="button"
          className="project"
          aria-pressed={uri === directory}
          title={pathOf(uri)}
          onClick={() => {
            setDirectory(uri);
            if (!isTouch()) document.querySelector<HTMLElement>("[data-composer]")?.focus();
          }}
        >
          <Icon name="folder" /> <bdi>{name}</bdi> <Ago at={usedAt} />
        </button>
      ))}
    </section>
  );
}

const SHOWN = 5;

/** What to go on with: first what needs somebody. */
function Recent() {
  const sessions = useApp((state) => state.sessions);
  const waiting = useApp((state) => state.inbox.length);
  const active = sessions.filter((session) => groupOf(session) !== "archived");
  const recent = active.slice(0, SHOWN);
  if (recent.length === 0) return <FirstSteps />;
  return (
    <section className="home-recent" aria-label="Recent sessions">
      <header>
        <h2>Continue</h2>
        {waiting > 0 && (
          <a className="badge needs" href="#/inbox">
            {waiting === 1 ? "1 thing waits for you" : `${waiting} things wait for you`}
          </a>
        )}
      </header>
      <ul className="recent">
        {recent.map((session) => (
          <RecentSession key={session.resource} session={session} />
        ))}
      </ul>
    </section>
  );
}

function RecentSession({ session }: { session: SessionSummary }) {
  return (
    <li>
      <a href={hrefOf({ view: "session", session: session.resource, chat: null })}>
        <StatusDot group={groupOf(session)} />
        <bdi className="recent-title">{session.title || "New session"}</bdi>
        <span className="recent-place">
          <AgentMark provider={session.provider} /> {placeOf(session)}
        </span>
        <Ago at={session.modifiedAt} />
      </a>
    </li>
  );
}

function FirstSteps() {
  const isLoaded = useApp((state) => state.sessionsLoaded);
  if (!isLoaded) return null;
  return (
    <section className="home-steps" aria-label="How it works">
      <p>
        <Icon name="folder" /> Choose a folder below the prompt. The agent reads and changes files there.
      </p>
      <p>
        <Icon name="shield" /> The agent asks before it does something risky. What it asks waits in the inbox.
      </p>
      <p>
        <Icon name="people" /> Close the page whenever you like. The agent works on, and you can return on any device.
      </p>
    </section>
  );
}
