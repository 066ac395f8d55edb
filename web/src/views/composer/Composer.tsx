// Where a person writes. What stands here is the chat's draft in the store,
// which keeps it (`state/drafts.ts`).

import { useCallback, useEffect, useRef, useState } from "react";
import { say, sendNow, stop, takeBack } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { needsUploads, sayLarge } from "../../app/uploads";
import { isTouch } from "../../lib/device";
import type { MessageAttachment } from "../../protocol/types";
import { goingAlong } from "../../state/attachments";
import { NO_DRAFT } from "../../state/drafts";
import { isEmpty as hasNoWords } from "../../state/words";
import { Icon } from "../ui/Icon";
import { AgentPicker } from "./AgentPicker";
import { AttachmentStrip } from "./AttachmentStrip";
import { Background } from "./Background";
import { Canvases } from "./Canvases";
import { CompletionList } from "./CompletionList";
import { ComposerNote } from "./ComposerNote";
import { ContextMeter } from "./ContextMeter";
import { ModelPicker } from "./ModelPicker";
import { Scheduled } from "./Scheduled";
import { attachFiles } from "./attach";
import { useCompletions } from "./useCompletions";
import { useDrop } from "./useDrop";
import { useHistory } from "./useHistory";

interface Props {
  chat: string;
  isReadOnly: boolean;
  onSent: () => void;
}

export function Composer({ chat, isReadOnly, onSent }: Props) {
  const host = useHost();
  const isStreaming = useApp((state) => state.streaming);
  const activeTurn = useApp((state) => state.chat?.activeTurn?.id);
  const model = useApp((state) => state.model);
  const agent = useApp((state) => state.chat?.draft?.agent);
  const shellPrefix = useApp((state) => state.connection.shellPrefix);
  const scheduled = useApp((state) => state.scheduledMessages);
  const input = useRef<HTMLTextAreaElement>(null);
  const [uploading, setUploading] = useState<string | null>(null);
  const isUploading = uploading === chat;
  const { words, note } = useApp((state) => state.drafts.get(chat)) ?? NO_DRAFT;
  const { text, attachments } = words;
  const { store } = host;
  const setText = (next: string) => store.write(chat, (known) => ({ ...known, text: next }));
  const setAttachments = (change: (known: readonly MessageAttachment[]) => readonly MessageAttachment[]) =>
    store.write(chat, (known) => ({ ...known, attachments: change(known.attachments) }));
  const history = useHistory(text, setText);
  const completions = useCompletions(chat, text, input, (next, attachment) => {
    setText(next);
    if (attachment) setAttachments((known) => [...known, attachment]);
  });
  const addFiles = useCallback(
    async (files: File[]) => {
      if (isReadOnly) return void store.notify({ tone: "info", text: "This chat is read-only. Nothing can be attached to it." });
      const { added, problems } = await attachFiles(files);
      if (added.length > 0) store.write(chat, (known) => ({ ...known, attachments: [...known.attachments, ...added] }));
      for (const problem of problems) store.notify({ tone: "error", text: problem });
    },
    [store, chat, isReadOnly],
  );
  const isDropping = useDrop(useCallback((files: File[]) => void addFiles(files), [addFiles]));
  useGrowing(input, text);

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

  const restore = () => {
    store.clearScheduledMessages();
    input.current?.focus();
  };

  const onKeyDown = (event: React.KeyboardEvent) => {
    // A word that is still being composed is not finished by its Enter.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (completions.onKey(event) || history.onKey(event)) return;
    if (event.key === "Escape" && isStreaming && activeTurn) {
      event.preventDefault();
      stop(host, chat, activeTurn);
      return;
    }
    if (event.key !== "Enter" || event.shiftKey || (isTouch() && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    send(event.altKey ? "queue" : "steer");
  };

  if (isReadOnly) return <div className="composer-note">This chat is read-only.</div>;
  return (
    <div className="composer-frame">
      <Background chat={chat} />
      <Canvases />
      <Scheduled
        chat={chat}
        messages={scheduled}
        onRestore={restore}
        onRemove={(message) => takeBack(host, chat, message)}
        onSendNow={isStreaming ? undefined : (message) => sendNow(host, chat, message)}
      />
      <ComposerNote chat={chat} note={note} />
      <form
        className={`composer${isShell ? " shell" : ""}${isDropping ? " dropping" : ""}`}
        onSubmit={(event) => {
          event.preventDefault();
          send("steer");
        }}
      >
        {isDropping && <p className="drop-hint">Drop files to attach them</p>}
        <AttachmentStrip attachments={attachments} onRemove={(at) => setAttachments((known) => known.filter((_, index) => index !== at))} />
        <textarea
          ref={input}
          className="composer-input"
          rows={1}
          value={text}
          readOnly={isUploading}
          placeholder={!isStreaming ? "Message the agent…" : isTouch() ? "Steer the agent…" : "Steer the agent, or Alt+Enter to queue…"}
          aria-label="Message"
          aria-expanded={completions.isOpen}
          aria-controls={completions.isOpen ? "completions" : undefined}
          aria-activedescendant={completions.isOpen ? `completion-${completions.active}` : undefined}
          role="combobox"
          aria-autocomplete="list"
          data-composer
          onChange={(event) => {
            setText(event.target.value);
            completions.ask(event.target.value, event.target.selectionStart);
          }}
          onKeyDown={onKeyDown}
          onBlur={completions.close}
        />
        <CompletionList completions={completions} />
        <div className="composer-bar">
          <label className="icon-button" title="Attach files">
            <Icon name="image" />
            <input
              type="file"
              multiple
              className="sr-only"
              aria-label="Attach files"
              onChange={(event) => {
                void addFiles([...(event.target.files ?? [])]);
                event.target.value = "";
              }}
            />
          </label>
          <ModelPicker chat={chat} />
          <AgentPicker chat={chat} />
          {isUploading && <span className="badge" role="status">Uploading attachments…</span>}
          {isShell && <span className="badge">runs in a shell, asks no agent</span>}
          <ContextMeter />
          {isStreaming && activeTurn && (
            <button type="button" className="button stop" onClick={() => stop(host, chat, activeTurn)} title="Stop (Esc)">
              <Icon name="stop" /> Stop
            </button>
          )}
          {isStreaming && !isEmpty && !isUploading && (
            <button type="button" className="button" onClick={() => send("queue")} title="Send after this turn (Alt+Enter)">
              Queue
            </button>
          )}
          <button type="submit" className="button primary send" disabled={isEmpty || isUploading} aria-label={isStreaming ? "Steer" : "Send"}>
            {isStreaming ? "Steer" : "Send"} <Icon name="send" />
          </button>
        </div>
      </form>
    </div>
  );
}

/** As high as its text, up to a limit that the style sheet sets. */
function useGrowing(input: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    const element = input.current;
    if (!element || CSS.supports("field-sizing", "content")) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [input, text]);
}
