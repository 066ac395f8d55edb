// Where a person writes: text, files, suggestions. What stands here is a draft
// in the store, which keeps it (`state/drafts.ts`); what becomes of it is up to
// whoever shows the editor.

import { useCallback, useEffect, useRef } from "react";
import type { ReactNode } from "react";
import { useApp, useHost } from "../../app/context";
import { isTouch } from "../../lib/device";
import type { MessageAttachment } from "../../protocol/types";
import { NO_DRAFT } from "../../state/drafts";
import { followMentions } from "../../state/mentions";
import { AttachButtons } from "./AttachButtons";
import { AttachmentStrip } from "./AttachmentStrip";
import { CompletionList } from "./CompletionList";
import { ComposerNote } from "./ComposerNote";
import { attachFiles } from "./attach";
import { useCompletions } from "./useCompletions";
import type { Ask } from "./useCompletions";
import { useDrop } from "./useDrop";

interface Props {
  /** Whose words these are: a chat's, or of a session that is yet to begin. */
  editor: string;
  placeholder: string;
  className?: string;
  rows?: number;
  isLocked?: boolean;
  ask: Ask;
  onSend: (manner: "steer" | "queue") => void;
  /** Whether a key meant something else than what it means in text. */
  onKey?: (event: React.KeyboardEvent) => boolean;
  /** Shows files that can be attached, if there are any to show. */
  onBrowse?: () => void;
  /** What stands below the text, behind the buttons for files; it takes more lines where there is no room. */
  children: ReactNode;
  /** What stands at the end of the last of these lines, whatever their number. */
  end: ReactNode;
}

export function Editor({ editor, placeholder, className = "", rows = 1, isLocked = false, ask, onSend, onKey, onBrowse, children, end }: Props) {
  const { store } = useHost();
  const input = useRef<HTMLTextAreaElement>(null);
  const dropped = useRef<readonly MessageAttachment[]>([]);
  const { words, note } = useApp((state) => state.drafts.get(editor)) ?? NO_DRAFT;
  const { text, attachments } = words;
  const write = (next: string) =>
    store.write(editor, (known) => {
      const followed = followMentions(known, next, dropped.current);
      dropped.current = followed.dropped;
      return followed.words;
    });
  const completions = useCompletions(ask, text, input, (next, attachment) => {
    write(next);
    if (attachment) store.write(editor, (known) => ({ ...known, attachments: [...known.attachments, attachment] }));
  });
  const addFiles = useCallback(
    async (files: File[]) => {
      const { added, problems } = await attachFiles(files);
      if (added.length > 0) store.write(editor, (known) => ({ ...known, attachments: [...known.attachments, ...added] }));
      for (const problem of problems) store.notify({ tone: "error", text: problem });
      input.current?.focus();
    },
    [store, editor],
  );
  const isDropping = useDrop(useCallback((files: File[]) => void addFiles(files), [addFiles]));
  useGrowing(input, text);

  const onKeyDown = (event: React.KeyboardEvent) => {
    // A word that is still being composed is not finished by its Enter.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (completions.onKey(event) || onKey?.(event)) return;
    if (event.key !== "Enter" || event.shiftKey || (isTouch() && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    onSend(event.altKey ? "queue" : "steer");
  };

  return (
    <>
      <ComposerNote chat={editor} note={note} />
      <form
        className={`composer ${className}${isDropping ? " dropping" : ""}`}
        onSubmit={(event) => {
          event.preventDefault();
          onSend("steer");
        }}
      >
        {isDropping && <p className="drop-hint">Drop files to attach them</p>}
        <AttachmentStrip
          attachments={attachments}
          onRemove={(at) => store.write(editor, (known) => ({ ...known, attachments: known.attachments.filter((_, index) => index !== at) }))}
        />
        <textarea
          ref={input}
          className="composer-input"
          rows={rows}
          value={text}
          dir="auto"
          readOnly={isLocked}
          placeholder={placeholder}
          aria-label="Message"
          aria-controls={completions.isOpen ? "completions" : undefined}
          aria-activedescendant={completions.isOpen ? `completion-${completions.active}` : undefined}
          aria-haspopup="listbox"
          aria-autocomplete="list"
          data-composer
          onChange={(event) => {
            write(event.target.value);
            completions.ask(event.target.value, event.target.selectionStart);
          }}
          onKeyDown={onKeyDown}
          onBlur={completions.close}
        />
        <CompletionList completions={completions} />
        <div className="composer-bar">
          <div className="composer-chips">
            <AttachButtons onFiles={(files) => void addFiles(files)} onBrowse={onBrowse} />
            {children}
          </div>
          <div className="composer-end">{end}</div>
        </div>
      </form>
    </>
  );
}

/** As high as its text, where the style sheet cannot say so. */
function useGrowing(input: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    const element = input.current;
    if (!element || CSS.supports("field-sizing", "content")) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [input, text]);
}
