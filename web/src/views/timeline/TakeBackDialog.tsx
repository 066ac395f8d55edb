// Asks before a turn is taken back: whether files go with it, and, where
// something else is to be said in its place, what.

import { useState } from "react";
import { sayInstead, takeBack } from "../../app/checkpoints";
import { useApp, useHost } from "../../app/context";
import type { Message } from "../../protocol/types";
import { changesOfTurn } from "../../state/changesets";
import { Dialog } from "../ui/Dialog";

interface Props {
  chat: string;
  turnId: string;
  said: Message;
  isEditing: boolean;
  onClose: () => void;
}

export default function TakeBackDialog({ chat, turnId, said, isEditing, onClose }: Props) {
  const host = useHost();
  const session = useApp((state) => state.currentSessionId);
  const hasFiles = useApp((state) => changesOfTurn(state.session, state.chat, turnId) !== undefined);
  const [text, setText] = useState(said.text);
  const [withFiles, setWithFiles] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const isEmpty = isEditing && text.trim() === "" && !said.attachments?.length;
  const run = async () => {
    if (!session || isBusy || isEmpty) return;
    setBusy(true);
    const place = { session, chat, turnId, files: hasFiles && withFiles };
    if (!isEditing) await takeBack(host, place, said);
    else if (!(await sayInstead(host, place, said, text))) return setBusy(false);
    onClose();
  };
  const title = isEditing ? "Edit and send again" : "Take back this turn";
  return (
    <Dialog label={title} onClose={onClose} className="take-back">
      <h2>{title}</h2>
      {isEditing && (
        <textarea
          aria-label="Message"
          rows={Math.min(14, Math.max(3, text.split("\n").length + 1))}
          value={text}
          data-first-focus
          onChange={({ target }) => setText(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run();
          }}
        />
      )}
      <p className="muted">
        This turn and everything after it leave the conversation. {!isEditing && "Your message goes back to the editor. "}
        The whole conversation is kept, and you can return to it.
      </p>
      {hasFiles && (
        <label className="take-back-files">
          <input type="checkbox" checked={withFiles} onChange={({ target }) => setWithFiles(target.checked)} /> Return files to what they were before this turn
        </label>
      )}
      <div className="button-row">
        <button type="button" className="button primary" disabled={isBusy || isEmpty} onClick={() => void run()}>
          {isEditing ? "Send" : "Take back"}
        </button>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
