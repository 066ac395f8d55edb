// The directories that a session works in, and which of them a chat uses.

import { useState } from "react";
import { addDirectory, removeDirectory, replaceDirectory, setInChat } from "../../app/chats";
import { useApp, useHost } from "../../app/context";
import type { ChatState, URI } from "../../protocol/types";
import { fileUri, pathOf } from "../../protocol/uri";
import { abilitiesIn, canRemoveDirectory, canReplaceFirst } from "../../state/chats";
import { DirectoryPicker } from "../DirectoryPicker";
import { Icon } from "../ui/Icon";

interface Props {
  session: URI;
  directories: URI[];
}

export function Directories({ session, directories }: Props) {
  const host = useHost();
  const [picking, setPicking] = useState<"another" | "first">();
  const takesSeveral = useApp((state) => abilitiesIn(state).multipleWorkingDirectories !== undefined);
  const canReplace = useApp(canReplaceFirst);
  const removable = useApp((state) => directories.filter((directory) => canRemoveDirectory(state, directory)).join("\n")).split("\n");
  const chat = useApp((state) => state.chat);
  const [first] = directories;
  const pick = (directory: URI) => {
    if (picking === "first" && first) replaceDirectory(host, session, first, directory);
    else addDirectory(host, session, directory);
  };
  return (
    <>
      {directories.length === 0 && "none"}
      <ul className="directories" aria-label="Working directories">
        {directories.map((directory) => (
          <li key={directory}>
            <code>{pathOf(directory)}</code>
            {canReplace && directory === first && (
              <button type="button" className="button" aria-label={`Replace ${pathOf(directory)}`} onClick={() => setPicking("first")}>
                Replace…
              </button>
            )}
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
        <button type="button" className="button" onClick={() => setPicking("another")}>
          Add a directory…
        </button>
      )}
      {takesSeveral && chat && directories.length > 1 && <OfChat chat={chat} directories={directories} />}
      {picking && <DirectoryPicker start={first ?? fileUri("/")} onClose={() => setPicking(undefined)} onPick={pick} />}
    </>
  );
}

function OfChat({ chat, directories }: { chat: ChatState; directories: URI[] }) {
  const host = useHost();
  const used = directories.filter((directory) => chat.workingDirectories?.includes(directory) ?? true);
  return (
    <fieldset className="chat-directories">
      <legend>This chat works in</legend>
      {directories.map((directory) => {
        const isUsed = used.includes(directory);
        return (
          <label key={directory}>
            <input
              type="checkbox"
              checked={isUsed}
              disabled={isUsed && used.length === 1}
              onChange={(event) => setInChat(host, chat, directories, directory, event.target.checked)}
            />
            <code>{pathOf(directory)}</code>
          </label>
        );
      })}
    </fieldset>
  );
}
