import { memo, useState } from "react";
import type { ToolPhase, UiMessage } from "../../state/appState";
import { Approval } from "../decide/Approval";
import { AuthNeeded } from "../decide/AuthNeeded";
import { ResultApproval } from "../decide/ResultApproval";
import { Icon } from "../ui/Icon";
import type { IconName } from "../ui/Icon";
import { Decider } from "./Decider";
import { ToolContent } from "./ToolContent";
import { ToolInputView } from "./ToolInputView";

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
  const { toolCall: call, toolStep: step, turnId = "" } = message;
  const [chosen, setChosen] = useState<boolean>();
  if (!call || !step) return null;
  const { phase } = step;
  const waits = phase === "confirm" || phase === "confirm-result" || phase === "auth";
  const content = "content" in call ? call.content : undefined;
  const has = (kind: string) => content?.some(({ type }) => type === kind) ?? false;
  const hasLasting = has("subagent") || has("fileEdit");
  const isOpen = waits || (chosen ?? ((phase === "running" && content !== undefined) || hasLasting));
  const { label, icon } = PHASES[phase];
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
      {isOpen && (
        <div className="tool-body">
          {call.intention && <p className="muted">{call.intention}</p>}
          {phase === "confirm" && call.status === "pending-confirmation" ? (
            <Approval chat={chat} turnId={turnId} call={call} />
          ) : (
            // The difference says what the input said, and better.
            !has("fileEdit") && <ToolInputView call={call} />
          )}
          {content && <ToolContent items={content} isLive={phase === "running"} />}
          {call.status === "completed" && call.error !== undefined && <ToolError error={call.error} />}
          {call.status === "completed" && call.structuredContent && !content && (
            <pre className="output">{JSON.stringify(call.structuredContent, null, 2)}</pre>
          )}
          {call.status === "pending-result-confirmation" && <ResultApproval chat={chat} turnId={turnId} call={call} />}
          {call.status === "auth-required" && <AuthNeeded chat={chat} turnId={turnId} call={call} />}
          {call.status === "cancelled" && <Cancelled call={call} />}
        </div>
      )}
      <Decider id={call.toolCallId} />
    </section>
  );
});

function ToolError({ error }: { error: unknown }) {
  const message = typeof error === "object" && error && "message" in error ? String(error.message) : String(error);
  return <p className="tool-error">{message}</p>;
}

function Cancelled({ call }: { call: Extract<NonNullable<UiMessage["toolCall"]>, { status: "cancelled" }> }) {
  const why = { denied: "Denied", skipped: "Skipped", "result-denied": "Its result was withheld" }[call.reason];
  const reason = typeof call.reasonMessage === "string" ? call.reasonMessage : call.reasonMessage?.markdown;
  return (
    <p className="muted">
      {why}
      {reason ? `: ${reason}` : ""}
    </p>
  );
}
