// What can be done with a session of the list, for its menus.

import type { Host } from "../app/host";
import { pin } from "../app/listing";
import { archive, markRead, remove } from "../app/sessions";
import { hrefOf } from "../app/address";
import { copyText } from "../lib/clipboard";
import { Status } from "../protocol/types";
import type { SessionSummary } from "../protocol/types";
import type { MenuItem } from "./ui/Menu";

interface More {
  isPinned: boolean;
  onRename: () => void;
  onSelect: () => void;
}

export function sessionActions(host: Host, session: SessionSummary, { isPinned, onRename, onSelect }: More): MenuItem[] {
  const { resource, status } = session;
  const isArchived = (status & Status.IsArchived) !== 0;
  const isRead = (status & Status.IsRead) !== 0;
  const link = () => new URL(hrefOf({ view: "session", session: resource, chat: null }), location.href).href;
  return [
    { label: "Rename…", icon: "edit", run: onRename },
    { label: isPinned ? "Unpin" : "Pin", icon: isPinned ? "unpin" : "pin", run: () => pin([resource], !isPinned) },
    { label: isRead ? "Mark as unread" : "Mark as read", icon: isRead ? "unread" : "read", run: () => markRead(host, resource, !isRead) },
    { label: "Copy link", icon: "link", run: () => void copyText(link()) },
    { label: "Select", icon: "select", run: onSelect },
    { label: isArchived ? "Unarchive" : "Archive", icon: "archive", heading: "", run: () => archive(host, resource, !isArchived) },
    { label: "Delete", icon: "trash", isDangerous: true, run: () => remove(host, session) },
  ];
}
