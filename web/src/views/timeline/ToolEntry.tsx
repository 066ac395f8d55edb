// One tool call in the conversation: a line, and what it was given and made of
// it on demand. What it waits for is decided at the editor.

import { memo, useState } from "react";
import { plain } from "../../lib/text";
import type { JsonObject } from "../../protocol/types";
import type { ToolPhase, UiMessage } from "../../state/appState";
import { withoutTwins } from "../../state/approval";
import { detailsOf } from "../../state/timeline";
import { InputView } from "../decide/InputView";
import { Icon } from "../ui/Icon";
import type { IconName } from "../ui/Icon";
import { Markdown } from "../ui/Markdown";
import { Decider } from "./Decider";
import { DockLink } from "./DockLink";
import { ToolContent } from "./ToolContent";

const PHASES: Record<ToolPhase, { label: string; icon: IconName }> = {
  calling: { label: "Preparing", icon: "tool" },
  confirm: { label: "Needs approval", icon: "question" },
  running: { label: "Running", icon: "tool" },
  auth: { label: "Needs sign-in", icon: "question" },
  "confirm-result": { label: "Result needs approval", icon: "question" },
  done: { label: "Done", icon: "check" },
  error: { label: "Failed", icon: "warning" },
  cancelled: { label: "Not run", icon: "close" },
};

export const ToolEntry = memo(function ToolEntry({ message, chat }: { message: UiMessage; chat: string }) {
  const { toolCall: call, toolStep: step } = message;
  const [chosen, setChosen] = useState<boolean>();
  if (!call || !step) return null;
  const { phase } = step;
  const waits = phase === "confirm" || phase === "confirm-result" || phase === "auth";
  const content = "content" in call && call.content ? withoutTwins(call.content) : undefined;
  const has = (kind: string) => content?.some(({ type }) => type === kind) ?? false;
  const hasLasting = has("subagent") || has("fileEdit");
  const isOpen = !waits && (chosen ?? ((phase === "running" && content !== undefined) || hasLasting));
  const { label, icon } = PHASES[phase];
  const details = detailsOf(call);
  return (
    <section className={`tool tool-${phase}`} data-phase={phase} aria-label={`${label}: ${message.text}`}>
      <button type="button" className="tool-head" aria-expanded={isOpen} disabled={waits} onClick={() => setChosen(!isOpen)}>
        <span className="tool-icon" title={label}>
          <Icon name={icon} />
        </span>
        <span className="tool-title">{message.text}</span>
        <code className="tool-name">{step.toolName}</code>
        <span className="sr-only">{label}</span>
        {!waits && <Icon name="chevron" />}
      </button>
      {waits && (
        <p className="tool-waits">
          {label} <DockLink chat={chat} of={call.toolCallId} label={phase === "auth" ? "Sign in below" : "Decide below"} />
        </p>
      )}
      {isOpen && (
        <div className="tool-body">
          {call.intention && <p className="muted">{call.intention}</p>}
          {details && <Markdown text={details} />}
          {
            // The difference says what the input said, and better.
            !has("fileEdit") && <InputView input={call.status === "streaming" ? call.partialInput : call.toolInput} meta={call._meta} />
          }
          {content && <ToolContent items={content} isLive={phase === "running"} />}
          {call.status === "completed" && call.error !== undefined && <ToolError error={call.error} />}
          {call.status === "completed" && call.structuredContent && !content && (
            <pre className="output">{JSON.stringify(call.structuredContent, null, 2)}</pre>
          )}
          {call.status === "cancelled" && <Cancelled call={call} />}
          <ServerOf meta={call._meta} />
        </div>
      )}
      <Decider message={message} chat={chat} />
    </section>
  );
});

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

function ToolError({ error }: { error: unknown }) {
  const message = typeof error === "object" && error && "message" in error ? String(error.message) : String(error);
  return <p className="tool-error">{message}</p>;
}

function Cancelled({ call }: { call: Extract<NonNullable<UiMessage["toolCall"]>, { status: "cancelled" }> }) {
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
