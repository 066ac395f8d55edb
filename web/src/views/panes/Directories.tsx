// The directories that a session works in.

import { useState } from "react";
import { addDirectory, removeDirectory } from "../../app/chats";
import { useApp, useHost } from "../../app/context";
import type { URI } from "../../protocol/types";
import { fileUri, pathOf } from "../../protocol/uri";
import { abilitiesIn, canRemoveDirectory } from "../../state/chats";
import { DirectoryPicker } from "../DirectoryPicker";
import { Icon } from "../ui/Icon";

interface Props {
  session: URI;
  directories: URI[];
}

export function Directories({ session, directories }: Props) {
  const host = useHost();
  const [isPicking, setPicking] = useState(false);
  const takesSeveral = useApp((state) => abilitiesIn(state).multipleWorkingDirectories !== undefined);
  const removable = useApp((state) => directories.filter((directory) => canRemoveDirectory(state, directory)).join("\n")).split("\n");
  return (
    <>
      {directories.length === 0 && "none"}
      <ul className="directories" aria-label="Working directories">
        {directories.map((directory) => (
          <li key={directory}>
            <code>{pathOf(directory)}</code>
            {removable.includes(directory) && (
              <button
                type="button"
                className="icon-button"
                aria-label={`Remove ${pathOf(directory)}`}
                onClick={() => removeDirectory(host, session, directory)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {takesSeveral && (
        <button type="button" className="button" onClick={() => setPicking(true)}>
          Add a directory…
        </button>
      )}
      {isPicking && (
        <DirectoryPicker
          start={directories[0] ?? fileUri("/")}
          onClose={() => setPicking(false)}
          onPick={(directory) => addDirectory(host, session, directory)}
        />
      )}
    </>
  );
}
