import { useApp, useHost } from "../../app/context";
import { goOn, reorder } from "../../app/chat";
import type { UiMessage } from "../../state/appState";
import { Icon } from "../ui/Icon";

interface Props {
  chat: string;
  messages: UiMessage[];
  onRestore: () => void;
  onRemove: (message: UiMessage) => void;
  /** Given while nothing runs: a steering message has nothing to steer, and the queue waits for somebody to go on. */
  onSendNow?: (message: UiMessage) => void;
}

/** Messages that wait: they stand here until the agent takes them up. */
export function Scheduled({ chat, messages, onRestore, onRemove, onSendNow }: Props) {
  const host = useHost();
  const unsent = useApp((state) => state.unsent);
  if (messages.length === 0) return null;
  const queued = messages.filter(({ scheduled }) => scheduled === "queued").map(({ id }) => id);
  const move = (id: string, by: number) => {
    const order = queued.filter((known) => known !== id);
    order.splice(queued.indexOf(id) + by, 0, id);
    reorder(host, chat, order);
  };
  return (
    <section className="scheduled" aria-label="Scheduled messages">
      <header>
        <span>Waiting</span>
        <span className="scheduled-actions">
          {onSendNow && queued.length > 0 && (
            <button type="button" className="link-button" onClick={() => goOn(host, chat)}>
              Run the queue
            </button>
          )}
          <button type="button" className="link-button" onClick={onRestore}>
            Restore to editor
          </button>
        </span>
      </header>
      <ul>
        {messages.map((message) => {
          const at = queued.indexOf(message.id);
          return (
            <li key={message.id}>
              <span className={`badge ${message.scheduled}`}>{message.scheduled === "steering" ? "steering" : `queued ${at + 1}`}</span>
              <span className="scheduled-text">{message.text}</span>
              <WaitingAttachments message={message} />
              {unsent.includes(message.id) && <span className="unsent">Not sent yet</span>}
              {onSendNow && message.scheduled === "steering" && (
                <button type="button" className="link-button" onClick={() => onSendNow(message)}>
                  Send now
                </button>
              )}
              {at > 0 && (
                <button type="button" className="icon-button small" aria-label="Earlier" onClick={() => move(message.id, -1)}>
                  <Icon name="arrowUp" />
                </button>
              )}
              {at >= 0 && at < queued.length - 1 && (
                <button type="button" className="icon-button small" aria-label="Later" onClick={() => move(message.id, 1)}>
                  <Icon name="arrowDown" />
                </button>
              )}
              <button type="button" className="icon-button small" aria-label="Remove" onClick={() => onRemove(message)}>
                <Icon name="close" />
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function WaitingAttachments({ message: { images = [], attachments = [] } }: { message: UiMessage }) {
  const count = images.length + attachments.length;
  if (count === 0) return null;
  return (
    <span className="badge" title={[...images, ...attachments].map(({ label }) => label).join(", ")}>
      {count === 1 ? "1 attachment" : `${count} attachments`}
    </span>
  );
}
