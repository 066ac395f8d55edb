// Where a person writes. The text being typed lives here; what should outlive
// the page is sent to the host as the chat's draft.

import { useEffect, useRef, useState } from "react";
import { say, stop, takeBack } from "../../app/chat";
import type { Manner } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { isTouch } from "../../lib/device";
import type { MessageAttachment } from "../../protocol/types";
import { Icon } from "../ui/Icon";
import { AgentPicker } from "./AgentPicker";
import { AttachmentStrip } from "./AttachmentStrip";
import { CompletionList } from "./CompletionList";
import { ContextMeter } from "./ContextMeter";
import { ModelPicker } from "./ModelPicker";
import { Scheduled } from "./Scheduled";
import { attachFiles, filesIn } from "./attach";
import { useCompletions } from "./useCompletions";
import { useDraft } from "./useDraft";
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
  const [text, setText] = useState("");
  const [isDropping, setDropping] = useState(false);
  const [attachments, setAttachments] = useState<MessageAttachment[]>([]);
  const forgetDraft = useDraft(chat, { text, attachments, model, agent }, (draft) => {
    setText(draft.text);
    setAttachments(draft.attachments ?? []);
  });
  const history = useHistory(text, setText);
  const completions = useCompletions(chat, text, input, (next, attachment) => {
    setText(next);
    if (attachment) setAttachments((known) => [...known, attachment]);
  });
  useGrowing(input, text);

  const isShell = !!shellPrefix && text.startsWith(shellPrefix);
  const isEmpty = text.trim() === "" && attachments.length === 0;

  const send = (manner: Manner) => {
    if (isEmpty) return;
    say(host, chat, { text, attachments, model, agent }, isStreaming ? manner : "send");
    forgetDraft();
    setText("");
    setAttachments([]);
    history.reset();
    onSent();
  };

  const restore = () => {
    const waiting = host.store.clearScheduledMessages();
    setText([...waiting.map((message) => message.text), text].filter(Boolean).join("\n\n"));
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

  const addFiles = async (files: File[]) => {
    const { added, problems } = await attachFiles(files);
    setAttachments((known) => [...known, ...added]);
    for (const text of problems) host.store.notify({ tone: "error", text });
  };

  if (isReadOnly) return <div className="composer-note">This chat is read-only.</div>;
  return (
    <div className="composer-frame">
      <Scheduled chat={chat} messages={scheduled} onRestore={restore} onRemove={(message) => takeBack(host, chat, message)} />
      <form
        className={`composer${isShell ? " shell" : ""}${isDropping ? " dropping" : ""}`}
        onSubmit={(event) => {
          event.preventDefault();
          send("steer");
        }}
        onDragOver={(event) => {
          event.preventDefault();
          setDropping(event.dataTransfer.types.includes("Files"));
        }}
        onDragLeave={() => setDropping(false)}
        onDrop={(event) => {
          event.preventDefault();
          setDropping(false);
          void addFiles(filesIn(event.dataTransfer));
        }}
      >
        <AttachmentStrip attachments={attachments} onRemove={(at) => setAttachments(attachments.filter((_, index) => index !== at))} />
        <textarea
          ref={input}
          className="composer-input"
          rows={1}
          value={text}
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
          onPaste={(event) => {
            const files = filesIn(event.clipboardData);
            if (files.length === 0) return;
            event.preventDefault();
            void addFiles(files);
          }}
        />
        <CompletionList completions={completions} />
        <div className="composer-bar">
          <label className="icon-button" title="Add images">
            <Icon name="image" />
            <input
              type="file"
              accept="image/*"
              multiple
              className="sr-only"
              aria-label="Add images"
              onChange={(event) => {
                void addFiles([...(event.target.files ?? [])]);
                event.target.value = "";
              }}
            />
          </label>
          <ModelPicker chat={chat} text={text} />
          <AgentPicker chat={chat} />
          {isShell && <span className="badge">runs in a shell, asks no agent</span>}
          <ContextMeter />
          {isStreaming && activeTurn && (
            <button type="button" className="button stop" onClick={() => stop(host, chat, activeTurn)} title="Stop (Esc)">
              <Icon name="stop" /> Stop
            </button>
          )}
          {isStreaming && !isEmpty && (
            <button type="button" className="button" onClick={() => send("queue")} title="Send after this turn (Alt+Enter)">
              Queue
            </button>
          )}
          <button type="submit" className="button primary send" disabled={isEmpty} aria-label={isStreaming ? "Steer" : "Send"}>
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
