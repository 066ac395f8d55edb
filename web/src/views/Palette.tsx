// One field for everything: commands first by what they are called, sessions
// by their title. It is there at once, not loaded when it is asked for: what is
// typed behind its key would go elsewhere.

import { useMemo, useState } from "react";
import { go } from "../app/address";
import { stop } from "../app/chat";
import { useApp, useHost, useRoute } from "../app/context";
import type { Host } from "../app/host";
import { archive, markRead, remove } from "../app/sessions";
import { setTheme } from "../app/settings";
import { copyText } from "../lib/clipboard";
import { Status } from "../protocol/types";
import { groupOf, matches } from "../state/sessions";
import { foldAll } from "./timeline/folds";
import { Dialog } from "./ui/Dialog";
import { Icon } from "./ui/Icon";
import type { IconName } from "./ui/Icon";
import { StatusDot } from "./ui/StatusDot";
import type { SessionGroup } from "../state/sessions";

interface Command {
  id: string;
  label: string;
  icon?: IconName;
  group?: SessionGroup;
  keys?: string;
  run: () => void;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const commands = useCommands();
  const sessions = useApp((state) => state.sessions);
  const found = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
    const opens: Command[] = sessions
      .filter((session) => matches(session, query))
      .slice(0, 30)
      .map((session) => ({
        id: session.resource,
        label: session.title || "New session",
        group: groupOf(session),
        run: () => go({ view: "session", session: session.resource, chat: null }),
      }));
    return [...fitting, ...opens];
  }, [commands, sessions, query]);
  const run = (command: Command | undefined) => {
    onClose();
    command?.run();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) setActive((active + by + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter" && !event.nativeEvent.isComposing) run(found[active]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Commands" onClose={onClose} className="palette">
      <input
        data-first-focus
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${active}`}
        aria-label="Command or session"
        placeholder="Command or session…"
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-list" role="listbox" aria-label="Results">
        {found.map((command, index) => (
          <li
            key={command.id}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === active}
            ref={index === active ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
            onPointerMove={() => setActive(index)}
            onClick={() => run(command)}
          >
            {command.group ? <StatusDot group={command.group} /> : <Icon name={command.icon ?? "chevron"} />}
            <span>{command.label}</span>
            {command.keys && <kbd>{command.keys}</kbd>}
          </li>
        ))}
        {found.length === 0 && <li className="muted">Nothing matches</li>}
      </ul>
    </Dialog>
  );
}

function useCommands(): Command[] {
  const host = useHost();
  const route = useRoute();
  const session = useApp((state) => state.session);
  const chat = useApp((state) => state.currentChatId);
  const turn = useApp((state) => state.chat?.activeTurn?.id);
  return useMemo(() => {
    const always: Command[] = [
      { id: "new", label: "New session", icon: "add", keys: "N", run: () => go({ view: "new" }) },
      { id: "inbox", label: "Open inbox", icon: "inbox", keys: "I", run: () => go({ view: "inbox" }) },
      { id: "automations", label: "Automations", icon: "clock", run: () => go({ view: "automations" }) },
      { id: "settings", label: "Settings", icon: "settings", run: () => go({ view: "settings" }) },
      { id: "light", label: "Appearance: light", icon: "sparkle", run: () => setTheme(host, "light") },
      { id: "dark", label: "Appearance: dark", icon: "sparkle", run: () => setTheme(host, "dark") },
      { id: "system", label: "Appearance: as the system", icon: "sparkle", run: () => setTheme(host, "system") },
      { id: "connect", label: "Connect to another host", icon: "refresh", run: () => go({ view: "connect" }) },
    ];
    if (route.view !== "session" || !session) return always;
    const { session: uri } = route;
    const isArchived = (session.status & Status.IsArchived) !== 0;
    const here: Command[] = [
      { id: "changes", label: "Show changes", icon: "diff", run: () => go({ ...route, pane: "changes" }) },
      { id: "terminals", label: "Show terminals", icon: "terminal", run: () => go({ ...route, pane: "terminals" }) },
      { id: "details", label: "Session details and settings", icon: "settings", run: () => go({ ...route, pane: "details" }) },
      { id: "fold", label: "Fold or unfold all turns", icon: "fold", keys: "F", run: foldAll },
      { id: "link", label: "Copy a link to this session", icon: "copy", run: () => void copyText(location.href) },
      { id: "unread", label: "Mark as unread and leave", icon: "check", run: () => leaveUnread(host, uri) },
      {
        id: "archive",
        label: isArchived ? "Unarchive this session" : "Archive this session",
        icon: "archive",
        run: () => archive(host, uri, !isArchived),
      },
      { id: "delete", label: "Delete this session", icon: "trash", run: () => remove(host, { resource: uri, title: session.title }) },
    ];
    if (turn && chat) here.unshift({ id: "stop", label: "Stop the running turn", icon: "stop", keys: "Esc", run: () => stop(host, chat, turn) });
    return [...here, ...always];
  }, [host, route, session, chat, turn]);
}

/** What is on the screen counts as read: so one has to leave it. */
function leaveUnread(host: Host, session: string): void {
  go({ view: "home" });
  markRead(host, session, false);
}
