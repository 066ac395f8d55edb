import { useEffect, useState } from "react";
import { useHost } from "../app/context";
import { list } from "../app/resources";
import type { Entry } from "../app/resources";
import { messageOf } from "../app/sessions";
import { childOf, parentOf, pathOf } from "../protocol/uri";
import { Dialog } from "./ui/Dialog";
import { Icon } from "./ui/Icon";

interface Props {
  start: string;
  onPick: (uri: string) => void;
  onClose: () => void;
}

/** Directories of the host's machine, one level at a time. */
export function DirectoryPicker({ start, onPick, onClose }: Props) {
  const host = useHost();
  const [uri, setUri] = useState(start);
  const [entries, setEntries] = useState<Entry[]>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    list(host, uri).then(
      (found) => {
        if (!isCurrent) return;
        setEntries(found.filter(({ type }) => type === "directory"));
        setProblem(undefined);
      },
      (error: unknown) => {
        if (!isCurrent) return;
        setEntries([]);
        setProblem(messageOf(error));
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [host, uri]);
  const shown = entries?.toSorted((a, b) => Number(a.name.startsWith(".")) - Number(b.name.startsWith(".")) || (a.name < b.name ? -1 : 1));
  return (
    <Dialog label="Choose a directory" onClose={onClose} className="directory-picker">
      <p className="file-path">{pathOf(uri)}</p>
      <ul className="directory-list">
        <li>
          <button type="button" onClick={() => setUri(parentOf(uri))} disabled={pathOf(uri) === "/"}>
            <Icon name="undo" /> ..
          </button>
        </li>
        {shown?.map(({ name }) => (
          <li key={name}>
            <button type="button" onClick={() => setUri(childOf(uri, name))}>
              <Icon name="folder" /> {name}
            </button>
          </li>
        ))}
      </ul>
      {problem && <p className="problem">{problem}</p>}
      <div className="button-row">
        <button
          type="button"
          className="button primary"
          onClick={() => {
            onPick(uri);
            onClose();
          }}
        >
          Choose this directory
        </button>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
