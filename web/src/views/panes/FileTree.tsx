// The changed files by directory.

import { useMemo } from "react";
import type { ChangesetFile } from "../../protocol/types";
import { pathOf } from "../../protocol/uri";
import { Icon } from "../ui/Icon";
import { Stats } from "../ui/Stats";

interface Props {
  files: ChangesetFile[];
  selected: string | undefined;
  onSelect: (id: string) => void;
  onReview?: (id: string, reviewed: boolean) => void;
}

export function FileTree({ files, selected, onSelect, onReview }: Props) {
  const folders = useMemo(() => byFolder(files), [files]);
  return (
    <div className="file-tree">
      {folders.map(({ folder, entries }) => (
        <section key={folder} aria-label={folder || "Files"}>
          {folder && (
            <h3>
              <Icon name="folder" /> {folder}
            </h3>
          )}
          <ul>
            {entries.map(({ name, file }) => (
              <li key={file.id} className={file.id === selected ? "current" : undefined}>
                <button type="button" aria-current={file.id === selected} onClick={() => onSelect(file.id)}>
                  <Icon name="file" />
                  <span className={file.edit.after ? undefined : "gone"}>{name}</span>
                  {!file.edit.before && <span className="badge">new</span>}
                  <Stats diff={file.edit.diff} />
                </button>
                {onReview && (
                  <input
                    type="checkbox"
                    aria-label={`${name} reviewed`}
                    title="Reviewed"
                    checked={file.reviewed === true}
                    onChange={(event) => onReview(file.id, event.target.checked)}
                  />
                )}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

export function uriOf({ edit }: ChangesetFile): string {
  return edit.after?.uri ?? edit.before?.uri ?? "";
}

interface Folder {
  folder: string;
  entries: { name: string; file: ChangesetFile }[];
}

function byFolder(files: ChangesetFile[]): Folder[] {
  const paths = files.map((file) => pathOf(uriOf(file)).split("/"));
  const shared = sharedLength(paths);
  const folders = new Map<string, Folder>();
  for (const [index, file] of files.entries()) {
    const rest = (paths[index] ?? []).slice(shared);
    const name = rest.pop() ?? "";
    const folder = rest.join("/");
    const known = folders.get(folder) ?? { folder, entries: [] };
    known.entries.push({ name, file });
    folders.set(folder, known);
  }
  return [...folders.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** How many leading directories all paths have in common. */
function sharedLength(paths: string[][]): number {
  const [first = [], ...rest] = paths;
  let length = 0;
  while (length < first.length - 1 && rest.every((path) => length < path.length - 1 && path[length] === first[length])) length++;
  return length;
}
