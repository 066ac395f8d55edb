import { useState } from "react";
import { Dialog } from "./ui/Dialog";

interface Props {
  title: string;
  onRename: (title: string) => void;
  onClose: () => void;
}

export function RenameDialog({ title, onRename, onClose }: Props) {
  const [text, setText] = useState(title);
  return (
    <Dialog label="Rename session" onClose={onClose}>
      <form
        method="dialog"
        onSubmit={() => {
          if (text.trim() && text !== title) onRename(text);
        }}
      >
        <label className="field">
          Title
          <input data-first-focus value={text} onChange={(event) => setText(event.target.value)} onFocus={(event) => event.target.select()} />
        </label>
        <div className="button-row">
          <button type="submit" className="button primary">
            Rename
          </button>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
