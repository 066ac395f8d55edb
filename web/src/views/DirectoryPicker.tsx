import { useEffect, useState } from "react";
import { useHost } from "../app/context";
import { list } from "../app/resources";
import { messageOf } from "../app/sessions";
import { childOf, nameOf, parentOf, pathOf } from "../protocol/uri";
import { Dialog } from "./ui/Dialog";
import { Icon } from "./ui/Icon";

interface Props {
  start: string;
  onPick: (uri: string) => void;
  onClose: () => void;
}

/** What was found at a place, or why nothing was. */
interface Found {
  uri: string;
  names: string[];
  problem?: string;
}

/** Directories of the host's machine, one level at a time. */
export function DirectoryPicker({ start, onPick, onClose }: Props) {
  const host = useHost();
  const [uri, setUri] = useState(start);
  const [found, setFound] = useState<Found>();
  const [filter, setFilter] = useState("");
  useEffect(() => {
    let isCurrent = true;
    directoriesIn(host, uri).then(
      (names) => isCurrent && setFound({ uri, names }),
      (error: unknown) => isCurrent && setFound({ uri, names: [], problem: messageOf(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [host, uri]);
  const enter = (next: string) => {
    setUri(next);
    setFilter("");
  };
  const isRead = found?.uri === uri;
  // What was there before stays until the next level is known: nothing jumps.
  const names = found?.names.filter((name) => name.toLowerCase().includes(filter.toLowerCase())) ?? [];
  const pick = () => {
    onPick(uri);
    onClose();
  };
  return (
    <Dialog label="Choose a directory" onClose={onClose} className="directory-picker">
      <h2>Choose a directory</h2>
      <Crumbs uri={uri} onEnter={enter} />
      <input
        data-first-focus
        type="text"
        aria-label="Filter directories"
        placeholder="Filter; Enter opens the first"
        value={filter}
        spellCheck={false}
        onChange={(event) => setFilter(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Backspace" && filter === "") enter(parentOf(uri));
          else if (event.key !== "Enter") return;
          else if (event.ctrlKey || event.metaKey) pick();
          else if (isRead && names[0]) enter(childOf(uri, names[0]));
          event.preventDefault();
        }}
      />
      <ul className={isRead ? "directory-list" : "directory-list stale"} aria-busy={!isRead}>
        {names.map((name) => (
          <li key={name}>
            <button type="button" className={name.startsWith(".") ? "hidden-entry" : undefined} onClick={() => enter(childOf(uri, name))}>
              <Icon name="folder" /> <span>{name}</span>
            </button>
          </li>
        ))}
        {isRead && names.length === 0 && !found.problem && (
          <li className="muted">{filter ? "Nothing matches." : "There are no directories in here."}</li>
        )}
        {isRead && found.problem && (
          <li className="problem" role="alert">
            {found.problem}
          </li>
        )}
      </ul>
      <div className="button-row">
        <button type="button" className="button primary" onClick={pick} disabled={!isRead || found.problem !== undefined}>
          Choose this directory
        </button>
        <button type="button" className="button quiet" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}

async function directoriesIn(host: Parameters<typeof list>[0], uri: string): Promise<string[]> {
  const entries = await list(host, uri);
  const names = entries.filter(({ type }) => type === "directory").map(({ name }) => name);
  return names.sort((a, b) => Number(a.startsWith(".")) - Number(b.startsWith(".")) || a.localeCompare(b));
}

/** The way from the root to here; each step can be gone back to. */
function Crumbs({ uri, onEnter }: { uri: string; onEnter: (uri: string) => void }) {
  const ways = [uri];
  for (let at = uri; pathOf(at).replace(/\/+$/, "") !== ""; ) ways.unshift((at = parentOf(at)));
  return (
    <nav className="crumbs" aria-label="Path">
      {ways.map((way, index) => (
        <button key={way} type="button" aria-current={index === ways.length - 1} onClick={() => onEnter(way)}>
          {index === 0 ? "/" : nameOf(way)}
        </button>
      ))}
    </nav>
  );
}
