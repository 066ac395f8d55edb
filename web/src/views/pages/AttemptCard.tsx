// One attempt: who tries, how far it is, what it said and changed, what it cost.

import { lazy, Suspense } from "react";
import { hrefOf } from "../../app/address";
import { useApp, useChannel } from "../../app/context";
import { count, money } from "../../lib/text";
import { took, tokens } from "../../lib/time";
import type { ChangesetFile, ChangesetState, ChatState, SessionState, SessionSummary, URI } from "../../protocol/types";
import { pathWithin } from "../../protocol/uri";
import { attemptOf, changesOfSession, outcomeOf } from "../../state/attempts";
import { currentModel, modelsOf } from "../../state/model";
import { workedFor } from "../../state/pace";
import { groupOf } from "../../state/sessions";
import type { SessionGroup } from "../../state/sessions";
import { uriOf } from "../panes/FileTree";
import { useNow } from "../timeline/useNow";
import { AgentMark } from "../ui/AgentMark";
import { Markdown } from "../ui/Markdown";
import { Skeleton } from "../ui/Skeleton";
import { Stats } from "../ui/Stats";
import { StatusDot } from "../ui/StatusDot";
import { Ticked } from "../ui/Ticked";

const EditBody = lazy(() => import("../panes/FileEditView").then((module) => ({ default: module.EditBody })));

interface Props {
  session: SessionSummary;
  /** The file that is compared, as it is called in the folder. */
  path: string | undefined;
  isKept: boolean;
  onPath: (path: string) => void;
  onKeep: (changes: URI) => void;
}

const STATES: Record<SessionGroup, string> = { "needs-you": "Waits for you", working: "Working", failed: "Failed", unread: "Done", idle: "Done", archived: "Archived" };
const SHOWN_FILES = 12;

export function AttemptCard({ session: summary, path, isKept, onPath, onKeep }: Props) {
  const session = useChannel(summary.resource, "session");
  const chatUri = session?.defaultChat ?? session?.chats[0]?.resource;
  const chat = useChannel(chatUri, "chat");
  const changesUri = changesOfSession(session);
  const changes = useChannel(changesUri, "changeset");
  const wait = useApp((state) => (chatUri ? state.pace.waits.get(chatUri) : undefined));
  const outcome = chat && outcomeOf(chat);
  const now = useNow(outcome?.isRunning === true);
  const number = attemptOf(summary)?.number ?? 0;
  const group = groupOf(summary);
  const isSilent = chat !== undefined && !chat.activeTurn && chat.turns.length === 0;
  const state = session?.lifecycle === "failed" ? "Not created" : isSilent && group !== "archived" ? "Starting" : STATES[group];
  const time = (outcome?.duration ?? 0) + (outcome?.isRunning ? (workedFor(outcome.startedAt, wait, now) ?? 0) : 0);
  const href = hrefOf({ view: "session", session: summary.resource, chat: null });
  const canKeep = changes?.operations?.some(({ id, status }) => id === "keep" && status !== "running" && status !== "disabled") === true && !outcome?.isRunning && changes.files.length > 0;
  return (
    <article className={isKept ? "attempt kept" : "attempt"} aria-label={`Attempt ${number}`}>
      <header>
        <StatusDot group={group} />
        <h2>Attempt {number}</h2>
        <span className={isKept ? "badge ok" : group === "needs-you" ? "badge needs" : group === "failed" ? "badge bad" : "badge"}>{isKept ? "Kept" : state}</span>
        <Who provider={summary.provider} session={session} chat={chat} />
      </header>
      {session?.creationError && (
        <p className="problem">
          <Ticked text={session.creationError.message} />
        </p>
      )}
      {group === "needs-you" && (
        <a className="button" href={href}>
          Decide in the session
        </a>
      )}
      <div className="attempt-answer">{outcome?.answer ? <Markdown text={outcome.answer} isStreaming={outcome.isRunning} /> : <p className="muted">{outcome?.isRunning ? (chat?.activity ?? "No answer yet") : "No answer"}</p>}</div>
      <dl className="attempt-facts">
        <div>
          <dt>Changes</dt>
          <dd>{changes ? <Total changes={changes} /> : "–"}</dd>
        </div>
        <div>
          <dt>Time</dt>
          <dd>{time > 0 ? took(time) : "–"}</dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd>{outcome && outcome.inputTokens + outcome.outputTokens > 0 ? `${tokens(outcome.inputTokens)} in · ${tokens(outcome.outputTokens)} out` : "–"}</dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>{outcome?.cost ? money(outcome.cost) : "–"}</dd>
        </div>
      </dl>
      {changes && <Files changes={changes} directories={session?.workingDirectories ?? []} path={path} onPath={onPath} />}
      <div className="button-row">
        <button type="button" className="button primary" disabled={!canKeep || isKept} onClick={() => changesUri && onKeep(changesUri)}>
          Keep this one…
        </button>
        <a className="button" href={hrefOf({ view: "session", session: summary.resource, chat: null, pane: "changes" })}>
          Changes
        </a>
        <a className="button quiet" href={href}>
          Open
        </a>
      </div>
    </article>
  );
}

function Who({ provider, session, chat }: { provider: string; session: SessionState | undefined; chat: ChatState | undefined }) {
  const root = useApp((state) => state.root);
  const agent = root?.agents.find((known) => known.provider === provider)?.displayName ?? provider;
  const model = currentModel(modelsOf(root, { provider }), chat, session);
  return (
    <span className="attempt-who">
      <AgentMark provider={provider} name={agent} /> {agent}
      {model && ` · ${model.name || model.id}`}
    </span>
  );
}

function Total({ changes: { files, status, error } }: { changes: ChangesetState }) {
  if (status === "error") return error?.message ?? "unknown";
  if (files.length === 0) return status === "ready" ? "none" : "computing…";
  const sum = (of: "added" | "removed") => files.reduce((total, { edit }) => total + (edit.diff?.[of] ?? 0), 0);
  return (
    <>
      <Stats diff={{ added: sum("added"), removed: sum("removed") }} /> in {count(files.length, "file")}
    </>
  );
}

interface FilesProps {
  changes: ChangesetState;
  directories: readonly URI[];
  path: string | undefined;
  onPath: (path: string) => void;
}

function Files({ changes: { files }, directories, path, onPath }: FilesProps) {
  const named = files.map((file) => ({ file, name: pathWithin(directories, uriOf(file)) }));
  const chosen = named.find(({ name }) => name === path);
  const shown = named.slice(0, SHOWN_FILES);
  return (
    <>
      <ul className="attempt-files">
        {shown.map(({ file, name }) => (
          <li key={file.id}>
            <button type="button" aria-pressed={name === path} onClick={() => onPath(name)} title={name}>
              <span className={file.edit.after ? "attempt-path" : "attempt-path gone"}>{name}</span>
              <Stats diff={file.edit.diff} />
            </button>
          </li>
        ))}
      </ul>
      {named.length > shown.length && <p className="muted">and {count(named.length - shown.length, "more file")}</p>}
      {path !== undefined && (
        <div className="attempt-diff" role="group" aria-label={`Difference in ${path}`}>
          {chosen ? <Difference file={chosen.file} /> : <p className="pane-note">This attempt did not change {path}.</p>}
        </div>
      )}
    </>
  );
}

function Difference({ file }: { file: ChangesetFile }) {
  return (
    <Suspense fallback={<Skeleton shape="lines" label="Loading the change…" />}>
      <EditBody key={file.id} edit={file.edit} style="unified" isBinary={file._meta?.["binary"] === true} />
    </Suspense>
  );
}
