// One tool call in the conversation: a line, and what it was given and made of
// it on demand. What it waits for is decided at the editor.

import { lazy, memo, Suspense } from "react";
import { useApp } from "../../app/context";
import { failureOf } from "../../lib/output";
import { plain } from "../../lib/text";
import type { CancelledCall, CompletedCall, FileEdit, JsonObject, ToolCall, ToolResultContent } from "../../protocol/types";
import type { ToolPhase, UiMessage } from "../../state/appState";
import { readInput, withoutTwins } from "../../state/approval";
import { shortened } from "../../state/files";
import { callKey } from "../../state/pace";
import { detailsOf } from "../../state/timeline";
import { todosOf } from "../../state/todos";
import { exitCodeOf, hasFailed, kindOf } from "../../state/toolKinds";
import type { ToolKind } from "../../state/toolKinds";
import { InputView } from "../decide/InputView";
import { Icon } from "../ui/Icon";
import { LongText } from "../ui/LongText";
import { Markdown } from "../ui/Markdown";
import { Skeleton } from "../ui/Skeleton";
import { Stats } from "../ui/Stats";
import { Decider } from "./Decider";
import { DockLink } from "./DockLink";
import { useChosen } from "./memory";
import { TodoList } from "./TodoList";
import { ToolContent } from "./ToolContent";
import { Elapsed } from "./ToolGroup";
import { TOOL_ICONS } from "./toolIcons";
import { useNow } from "./useNow";

const EditBody = lazy(() => import("../panes/FileEditView").then((module) => ({ default: module.EditBody })));

/** Changes with more lines than this are opened by whoever wants to see them. */
const LONG_EDIT = 60;

const PHASES: Record<ToolPhase, string> = {
  calling: "Preparing",
  confirm: "Needs approval",
  running: "Running",
  auth: "Needs sign-in",
  "confirm-result": "Result needs approval",
  done: "Done",
  error: "Failed",
  cancelled: "Not run",
};

export const ToolEntry = memo(function ToolEntry({ message, chat }: { message: UiMessage; chat: string }) {
  const { toolCall: call, toolStep: step } = message;
  const [chosen, choose] = useChosen(message.id);
  const directories = useApp((state) => state.session?.workingDirectories);
  if (!call || !step) return null;
  const { phase } = step;
  const kind = kindOf(call);
  const waits = phase === "confirm" || phase === "confirm-result" || phase === "auth";
  const isFailed = hasFailed(call);
  const content = "content" in call && call.content ? withoutTwins(call.content) : undefined;
  const has = (type: ToolResultContent["type"]) => content?.some((item) => item.type === type) ?? false;
  const single = content && editIn(content);
  const isLongEdit = single !== undefined && (single.diff?.added ?? 0) + (single.diff?.removed ?? 0) > LONG_EDIT;
  const opensAtOnce = has("subagent") || (has("fileEdit") && !isLongEdit) || isFailed || (phase === "running" && content !== undefined && kind !== "todos");
  const isOpen = !waits && (chosen ?? opensAtOnce);
  const label = isFailed ? PHASES.error : PHASES[phase];
  const icon = waits ? "question" : isFailed ? "warning" : phase === "cancelled" ? "close" : TOOL_ICONS[kind];
  // A command is as it was run.
  const title = kind === "command" ? message.text : shortened(message.text, directories);
  const exitCode = exitCodeOf(call) ?? (isFailed ? failureIn(call).exitCode : undefined);
  return (
    <section className={`tool tool-${isFailed ? "error" : phase} tool-kind-${kind}`} data-phase={phase} data-kind={kind} aria-label={`${label}: ${title}`}>
      <button type="button" className="tool-head" aria-expanded={isOpen} disabled={waits} onClick={() => choose(!isOpen)}>
        <span className="tool-icon" title={label}>
          <Icon name={icon} />
        </span>
        <span className="tool-title" title={title === message.text ? undefined : message.text}>
          {title}
        </span>
        {phase === "running" && <RunningFor chat={chat} call={call.toolCallId} />}
        {single && <Stats diff={single.diff} />}
        {exitCode !== undefined && exitCode !== 0 && <span className="badge bad">exit {exitCode}</span>}
        {!message.text.includes(step.toolName) && <code className="tool-name">{step.toolName}</code>}
        <span className="sr-only">{label}</span>
        {!waits && <Icon name="chevron" />}
      </button>
      {waits && (
        <p className="tool-waits">
          {label} <DockLink chat={chat} of={call.toolCallId} label={phase === "auth" ? "Sign in below" : "Decide below"} />
        </p>
      )}
      {isOpen && <ToolBody message={message} kind={kind} content={content} single={single} />}
      <Decider message={message} chat={chat} />
    </section>
  );
});

function RunningFor({ chat, call }: { chat: string; call: string }) {
  const begun = useApp((state) => state.pace.begun.get(callKey(chat, call)));
  const now = useNow(begun !== undefined);
  return <Elapsed ms={begun === undefined ? undefined : now - begun} />;
}

interface BodyProps {
  message: UiMessage;
  kind: ToolKind;
  content: ToolResultContent[] | undefined;
  /** The one edit that the call made: its line is the call's. */
  single: FileEdit | undefined;
}

/** The edit of a call that made one, and nothing else. */
function editIn(content: readonly ToolResultContent[]): FileEdit | undefined {
  const [item, ...others] = content.filter(({ type }) => type !== "text");
  return item?.type === "fileEdit" && others.length === 0 ? item : undefined;
}

function ToolBody({ message: { toolCall: call, toolStep: step, text: title }, kind, content, single }: BodyProps) {
  if (!call || !step) return null;
  const todos = todosOf(call);
  if (todos) {
    return (
      <div className="tool-body">
        <TodoList todos={todos} />
      </div>
    );
  }
  const details = detailsOf(call);
  // The difference says what the input said, and better.
  const isEdit = content?.some(({ type }) => type === "fileEdit") ?? false;
  return (
    <div className="tool-body">
      {call.intention && <p className="muted">{call.intention}</p>}
      {details && <Markdown text={details} />}
      {!isEdit && !saysAll(title, call) && <InputView input={call.status === "streaming" ? call.partialInput : call.toolInput} meta={call._meta} />}
      {single ? (
        <Suspense fallback={<Skeleton shape="lines" label="Loading the change…" />}>
          <EditBody edit={single} style="unified" />
        </Suspense>
      ) : (
        content && <ToolContent items={content} kind={kind} isLive={step.phase === "running"} isSignIn={step.toolName === "sign_in"} />
      )}
      {call.status === "completed" && call.error !== undefined && <Failure call={call} shown={step.result ?? ""} />}
      {call.status === "completed" && call.structuredContent && !content && (
        <pre className="output">{JSON.stringify(call.structuredContent, null, 2)}</pre>
      )}
      {call.status === "cancelled" && <Cancelled call={call} />}
      <ServerOf meta={call._meta} />
    </div>
  );
}

/** Whether the line of a call says all that its input says: a short command. */
function saysAll(title: string, call: ToolCall): boolean {
  const input = call.status === "streaming" ? undefined : call.toolInput;
  if (typeof input !== "string") return false;
  const { command, fields } = readInput(input, call._meta);
  return command !== undefined && fields.length === 0 && title.length < 80 && title.includes(command.trim());
}

/** The MCP server that ran a call, and the app that would show its result. */
function ServerOf({ meta }: { meta: JsonObject | undefined }) {
  const { mcpServerName: server, ui } = meta ?? {};
  if (typeof server !== "string") return null;
  const app = (ui as { resourceUri?: unknown } | undefined)?.resourceUri;
  return (
    <p className="muted">
      Run by the MCP server {server}
      {typeof app === "string" && (
        <>
          {" · app "}
          <code>{app}</code>
        </>
      )}
    </p>
  );
}

function failureIn(call: UiMessage["toolCall"]): { exitCode?: number; text: string } {
  const error = call?.status === "completed" ? call.error : undefined;
  if (error === undefined) return { text: "" };
  const message = typeof error === "object" && error && "message" in error ? String(error.message) : String(error);
  return failureOf(message);
}

/** Why a call failed; what its result says already is not said again. */
function Failure({ call, shown }: { call: CompletedCall; shown: string }) {
  const { text } = failureIn(call);
  if (text.trim() === "" || shown.includes(text.trim())) return null;
  if (exitCodeOf(call) !== undefined && /\bcode \d+\.?$/.test(text.trim())) return null;
  if (text.includes("\n") || text.length > 240) return <LongText text={text} fromEnd isPrinted />;
  return <p className="tool-error">{text}</p>;
}

function Cancelled({ call }: { call: CancelledCall }) {
  const why = { denied: "Denied", skipped: "Skipped", "result-denied": "Its result was withheld" }[call.reason];
  // What a person said with a denial stands where it went, not here.
  const reason = call.reason === "denied" ? "" : plain(call.reasonMessage ?? "");
  return (
    <p className="muted">
      {why}
      {reason ? `: ${reason}` : ""}
    </p>
  );
}
