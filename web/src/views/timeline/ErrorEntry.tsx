import { resume, say } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import { readError } from "../../state/errors";
import { Icon } from "../ui/Icon";
import { LongText } from "../ui/LongText";

export function ErrorEntry({ message, chat, isLast }: { message: UiMessage; chat: string; isLast: boolean }) {
  const host = useHost();
  const isStreaming = useApp((state) => state.streaming);
  const start = useApp((state) => state.messages.find(({ turn, turnId }) => turn && turnId === message.turnId));
  const said = useApp((state) => state.chat?.turns.find(({ id }) => id === message.turnId)?.message);
  const answer = useApp((state) => state.messages.findLast(({ turnId, kind }) => turnId === message.turnId && kind === "assistant")?.text);
  // A turn that went on after the error has nothing left to resume.
  const canAct = isLast && !isStreaming && start?.turn?.state === "error";
  const canResume = canAct && message.resumable === true && message.turnId !== undefined;
  const { title, message: what, details } = readError(message.errorType, message.text, answer);
  return (
    <div className="error-card" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{title}</strong>
        {what && <p>{what}</p>}
        {details && (
          <details>
            <summary>Details</summary>
            <LongText text={details} isPrinted />
          </details>
        )}
        {canAct && (
          <div className="button-row">
            {canResume && (
              <button type="button" className="button primary" title="Continue where the agent stopped" onClick={() => resume(host, chat, message.turnId ?? "")}>
                <Icon name="refresh" /> Resume
              </button>
            )}
            {said && (
              <button type="button" className="button" title="Sends your message again, as a new turn" onClick={() => say(host, chat, said, "send")}>
                Try again
              </button>
            )}
          </div>
        )}
      </div>
    </div>
  );
}
