// What can be done with files besides reading them: the simple things, and
// nothing that writes over what is there.

import { useState } from "react";
import { useHost } from "../../app/context";
import { duplicate, makeFolder, move, removeFile } from "../../app/resources";
import { messageOf } from "../../app/sessions";
import type { URI } from "../../protocol/types";
import { nameOf, parentOf, pathOf } from "../../protocol/uri";
import { namedIn } from "../../state/files";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import type { MenuItem } from "../ui/Menu";

interface Props {
  /** The file that is open. */
  file: URI | undefined;
  /** Where a new folder goes while none is. */
  directory: URI;
  /** Something has changed; the file to show from now on, if another one. */
  onDone: (show: URI | null | undefined) => void;
}

export function FileActions({ file, directory, onDone }: Props) {
  const host = useHost();
  const [asked, setAsked] = useState<"folder" | "rename" | "delete">();
  const place = file ? parentOf(file) : directory;
  const attempt = (doing: Promise<URI | null | undefined | void>) => {
    setAsked(undefined);
    doing.then(
      (show) => onDone(show ?? (show === null ? null : undefined)),
      (error: unknown) => host.store.notify({ tone: "error", text: `Nothing was changed: ${messageOf(error)}` }),
    );
  };
  const items: MenuItem[] = [
    { label: "New folder…", icon: "folder", run: () => setAsked("folder") },
    ...(file
      ? [
          { label: "Rename…", icon: "edit" as const, run: () => setAsked("rename") },
          { label: "Duplicate", icon: "copy" as const, run: () => attempt(duplicate(host, file)) },
          { label: "Delete…", icon: "trash" as const, isDangerous: true, run: () => setAsked("delete") },
        ]
      : []),
  ];
  return (
    <>
      <Menu label="File actions" items={items}>
        <Icon name="more" />
      </Menu>
      {asked === "folder" && (
        <NameDialog
          label="New folder"
          hint={`In ${pathOf(place)}`}
          name=""
          place={place}
          onName={(uri) => attempt(makeFolder(host, uri))}
          onClose={() => setAsked(undefined)}
        />
      )}
      {asked === "rename" && file && (
        <NameDialog
          label="Rename file"
          hint={pathOf(file)}
          name={nameOf(file)}
          place={place}
          onName={(uri) => attempt(move(host, file, uri).then(() => uri))}
          onClose={() => setAsked(undefined)}
        />
      )}
      {asked === "delete" && file && (
        <Dialog label="Delete file" onClose={() => setAsked(undefined)}>
          <p>Delete “{pathOf(file)}” on the host? This cannot be undone.</p>
          <div className="button-row">
            <button type="button" className="button danger" onClick={() => attempt(removeFile(host, file).then(() => null))}>
              Delete file
            </button>
            <button type="button" className="button" onClick={() => setAsked(undefined)}>
              Cancel
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

interface NameProps {
  label: string;
  hint: string;
  name: string;
  place: URI;
  onName: (uri: URI) => void;
  onClose: () => void;
}

function NameDialog({ label, hint, name, place, onName, onClose }: NameProps) {
  const [text, setText] = useState(name);
  const uri = namedIn(place, text);
  return (
    <Dialog label={label} onClose={onClose}>
      <form
        method="dialog"
        onSubmit={() => {
          if (uri && text !== name) onName(uri);
        }}
      >
        <label className="field">
          Name
          <input data-first-focus value={text} onChange={(event) => setText(event.target.value)} onFocus={(event) => event.target.select()} />
        </label>
        <p className="muted">{hint}</p>
        <div className="button-row">
          <button type="submit" className="button primary" disabled={!uri}>
            {label}
          </button>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
