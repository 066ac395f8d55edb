import { resume, say } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import { Icon } from "../ui/Icon";

export function ErrorEntry({ message, chat, isLast }: { message: UiMessage; chat: string; isLast: boolean }) {
  const host = useHost();
  const isStreaming = useApp((state) => state.streaming);
  const start = useApp((state) => state.messages.find(({ turn, turnId }) => turn && turnId === message.turnId));
  const said = useApp((state) => state.chat?.turns.find(({ id }) => id === message.turnId)?.message);
  // A turn that went on after the error has nothing left to resume.
  const canAct = isLast && !isStreaming && start?.turn?.state === "error";
  return (
    <div className="error-card" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{message.errorType ?? "Error"}</strong>
        <p>{message.text}</p>
        {canAct && (
          <div className="button-row">
            {message.resumable && message.turnId && (
              <button type="button" className="button primary" onClick={() => resume(host, chat, message.turnId ?? "")}>
                <Icon name="refresh" /> Resume
              </button>
            )}
            {said && (
              <button type="button" className="button" onClick={() => say(host, chat, said, "send")}>
                Try again
              </button>
            )}
          </div>
        )}
      </div>
    </div>
  );
}
