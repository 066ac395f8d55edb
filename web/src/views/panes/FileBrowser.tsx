// A directory as a tree: what is in it is asked for when it is opened.

import { useEffect, useState } from "react";
import { useHost } from "../../app/context";
import { list } from "../../app/resources";
import type { Entry } from "../../app/resources";
import { messageOf } from "../../app/sessions";
import { childOf, nameOf, pathOf } from "../../protocol/uri";
import { inOrder, isWithin } from "../../state/files";
import { Icon } from "../ui/Icon";

interface Props {
  directory: string;
  /** The file that is shown: the way to it is open. */
  current: string | undefined;
  /** Another number: it is to be read again. */
  version: number;
  onOpen: (uri: string) => void;
  /** Adds it to the message, where one can be written. */
  onAttach?: (uri: string, isDirectory: boolean) => void;
}

/** More entries than this are not a list to look through. */
const MOST = 1_000;

export function FileBrowser({ directory, current, version, onOpen, onAttach }: Props) {
  return (
    <ul className="file-branch" role="tree" aria-label={nameOf(directory)}>
      <Directory uri={directory} name={nameOf(directory)} isOpenAtFirst current={current} version={version} onOpen={onOpen} onAttach={onAttach} />
    </ul>
  );
}

interface DirectoryProps extends Omit<Props, "directory"> {
  uri: string;
  name: string;
  isOpenAtFirst?: boolean;
}

function Directory({ uri, name, isOpenAtFirst = false, current, version, onOpen, onAttach }: DirectoryProps) {
  const host = useHost();
  const [chosen, setChosen] = useState<boolean>();
  const [entries, setEntries] = useState<Entry[]>();
  const [problem, setProblem] = useState<string>();
  const leadsThere = current !== undefined && isWithin(uri, current);
  const isOpen = chosen ?? (isOpenAtFirst || leadsThere);
  useEffect(() => {
    if (!isOpen) return;
    let isCurrent = true;
    list(host, uri).then(
      (found) => isCurrent && setEntries(inOrder(found)),
      (error: unknown) => isCurrent && setProblem(messageOf(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [host, uri, isOpen, version]);
  return (
    <li role="treeitem" aria-expanded={isOpen}>
      <div className="file-row">
        <button type="button" className="disclosure file-node" aria-expanded={isOpen} title={pathOf(uri)} onClick={() => setChosen(!isOpen)}>
          <Icon name="chevron" />
          <Icon name="folder" />
          <span>{name}</span>
        </button>
        {onAttach && <AttachThis name={name} onAttach={() => onAttach(uri, true)} />}
      </div>
      {isOpen && problem && <p className="muted">{problem}</p>}
      {isOpen && entries && (
        <ul className="file-branch" role="group">
          {entries.slice(0, MOST).map(({ name: inner, type }) => {
            const child = childOf(uri, inner);
            if (type === "directory") return <Directory key={inner} uri={child} name={inner} current={current} version={version} onOpen={onOpen} onAttach={onAttach} />;
            return (
              <li key={inner} role="treeitem">
                <div className="file-row">
                  <button type="button" className="file-node is-file" aria-current={child === current || undefined} onClick={() => onOpen(child)}>
                    <Icon name="file" />
                    <span>{inner}</span>
                  </button>
                  {onAttach && <AttachThis name={inner} onAttach={() => onAttach(child, false)} />}
                </div>
              </li>
            );
          })}
          {entries.length > MOST && <li className="muted">and {(entries.length - MOST).toLocaleString()} more</li>}
        </ul>
      )}
    </li>
  );
}

function AttachThis({ name, onAttach }: { name: string; onAttach: () => void }) {
  return (
    <button type="button" className="icon-button small file-attach" aria-label={`Attach ${name}`} title="Attach to your message" onClick={onAttach}>
      <Icon name="attach" />
    </button>
  );
}
