// The editor of a chat, with what waits above it and what the next message is
// sent with below.

import { useCallback, useState } from "react";
import { go } from "../../app/address";
import { say, sendNow, stop, takeBack } from "../../app/chat";
import { useApp, useHost, useRoute } from "../../app/context";
import { complete } from "../../app/resources";
import { needsUploads, sayLarge } from "../../app/uploads";
import { isTouch } from "../../lib/device";
import { goingAlong } from "../../state/attachments";
import { NO_DRAFT } from "../../state/drafts";
import { isEmpty as hasNoWords } from "../../state/words";
import { Icon } from "../ui/Icon";
import { AgentPicker } from "./AgentPicker";
import { Background } from "./Background";
import { Canvases } from "./Canvases";
import { ContextMeter } from "./ContextMeter";
import { Editor } from "./Editor";
import { ModelPicker } from "./ModelPicker";
import { ModePicker } from "./ModePicker";
import { Scheduled } from "./Scheduled";
import { useDrop } from "./useDrop";
import { useHistory } from "./useHistory";
import { useModeKey } from "./useModeKey";

interface Props {
  chat: string;
  isReadOnly: boolean;
  onSent: () => void;
}

export function Composer(props: Props) {
  return props.isReadOnly ? <ReadOnly /> : <ChatEditor {...props} />;
}

/** Nothing can be written here, and nothing dropped. */
function ReadOnly() {
  const { store } = useHost();
  useDrop(useCallback(() => void store.notify({ tone: "info", text: "This chat is read-only. Nothing can be attached to it." }), [store]));
  return <div className="composer-note">This chat is read-only.</div>;
}

function ChatEditor({ chat, onSent }: Props) {
  const host = useHost();
  const route = useRoute();
  const { store } = host;
  const isStreaming = useApp((state) => state.streaming);
  const activeTurn = useApp((state) => state.chat?.activeTurn?.id);
  const model = useApp((state) => state.model);
  const agent = useApp((state) => state.chat?.draft?.agent);
  const shellPrefix = useApp((state) => state.connection.shellPrefix);
  const scheduled = useApp((state) => state.scheduledMessages);
  const [uploading, setUploading] = useState<string | null>(null);
  const isUploading = uploading === chat;
  const { words } = useApp((state) => state.drafts.get(chat)) ?? NO_DRAFT;
  const { text, attachments } = words;
  const history = useHistory(text, (next) => store.write(chat, (known) => ({ ...known, text: next })));
  const isModeKey = useModeKey();

  const isShell = !!shellPrefix && text.startsWith(shellPrefix);
  const along = goingAlong(attachments, text);
  const isEmpty = hasNoWords({ text, attachments: along });

  const send = (manner: "steer" | "queue") => {
    if (isEmpty || isUploading) return;
    const said = { text, attachments: along, model, agent };
    if (needsUploads(said)) {
      setUploading(chat);
      void sayLarge(host, chat, said, manner).finally(() => setUploading(null));
    } else say(host, chat, said, isStreaming ? manner : "send");
    history.reset();
    onSent();
  };

  const onKey = (event: React.KeyboardEvent): boolean => {
    if (history.onKey(event) || isModeKey(event)) return true;
    if (event.key !== "Escape" || !isStreaming || !activeTurn) return false;
    event.preventDefault();
    stop(host, chat, activeTurn);
    return true;
  };

  return (
    <div className="composer-frame">
      <Background chat={chat} />
      <Canvases />
      <Scheduled
        chat={chat}
        messages={scheduled}
        onRestore={() => {
          store.clearScheduledMessages();
          document.querySelector<HTMLElement>("[data-composer]")?.focus();
        }}
        onRemove={(message) => takeBack(host, chat, message)}
        onSendNow={isStreaming ? undefined : (message) => sendNow(host, chat, message)}
      />
      <Editor
        editor={chat}
        className={isShell ? "shell" : ""}
        isLocked={isUploading}
        placeholder={!isStreaming ? "Message the agent…" : isTouch() ? "Steer the agent…" : "Steer the agent, or Alt+Enter to queue…"}
        ask={useCallback((typed: string, offset: number) => complete(host, chat, typed, offset), [host, chat])}
        onSend={send}
        onKey={onKey}
        onBrowse={route.view === "session" ? () => go({ ...route, pane: "files", turn: undefined }) : undefined}
        end={
          <>
            <ContextMeter chat={chat} />
            {isStreaming && !isEmpty && !isUploading && (
              <button type="button" className="button queue" onClick={() => send("queue")} title="Send after this turn (Alt+Enter)">
                Queue
              </button>
            )}
            {isStreaming && activeTurn && (
              <button type="button" className="icon-button stop" onClick={() => stop(host, chat, activeTurn)} aria-label="Stop" title="Stop (Esc)">
                <Icon name="stop" />
              </button>
            )}
            {(!isStreaming || !isEmpty || !activeTurn) && (
              <button type="submit" className="icon-button send" disabled={isEmpty || isUploading} aria-label={isStreaming ? "Steer" : "Send"} title={isStreaming ? "Steer (Enter)" : "Send (Enter)"}>
                <Icon name="send" />
              </button>
            )}
          </>
        }
      >
        <ModePicker />
        <ModelPicker chat={chat} />
        <AgentPicker chat={chat} />
        {isUploading && <span className="badge" role="status">Uploading attachments…</span>}
        {isShell && <span className="badge">runs in a shell, asks no agent</span>}
      </Editor>
    </div>
  );
}
