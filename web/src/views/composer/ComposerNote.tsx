import { useHost } from "../../app/context";
import { Icon } from "../ui/Icon";

/** Why words came back to the editor. */
export function ComposerNote({ chat, note }: { chat: string; note: string | undefined }) {
  const { store } = useHost();
  return (
    <div role="status">
      {note && (
        <p className="editor-note">
          <Icon name="undo" /> <span>{note}</span>
          <button type="button" className="icon-button small" aria-label="Dismiss" onClick={() => store.dismissNote(chat)}>
            <Icon name="close" />
          </button>
        </p>
      )}
    </div>
  );
}
