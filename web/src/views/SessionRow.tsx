import { memo, useState } from "react";
import { useHost } from "../app/context";
import { archive, markRead, remove, rename } from "../app/sessions";
import { firstLine } from "../lib/text";
import { ago } from "../lib/time";
import { Status } from "../protocol/types";
import type { SessionSummary } from "../protocol/types";
import { nameOf } from "../protocol/uri";
import { groupOf } from "../state/sessions";
import { RenameDialog } from "./RenameDialog";
import { Icon } from "./ui/Icon";
import { Menu } from "./ui/Menu";
import { StatusDot } from "./ui/StatusDot";

interface Props {
  session: SessionSummary;
  isCurrent: boolean;
  href: string;
}

export const SessionRow = memo(function SessionRow({ session, isCurrent, href }: Props) {
  const host = useHost();
  const [isRenaming, setRenaming] = useState(false);
  const { resource, title, activity, modifiedAt, status, changes } = session;
  const isArchived = (status & Status.IsArchived) !== 0;
  const isRead = (status & Status.IsRead) !== 0;
  const place = session.project?.displayName ?? (session.workingDirectories?.[0] ? nameOf(session.workingDirectories[0]) : "");
  return (
    <div className={isCurrent ? "session-row current" : "session-row"} data-session={resource}>
      <a href={href} aria-current={isCurrent ? "page" : undefined}>
        <StatusDot group={groupOf(session)} />
        <span className="session-text">
          <span className="session-title">{title || "New session"}</span>
          <span className="session-detail">
            {activity ? firstLine(activity, 60) : [session.provider, place].filter(Boolean).join(" · ")}
          </span>
        </span>
        <span className="session-side">
          <time dateTime={modifiedAt}>{ago(modifiedAt)}</time>
          {changes && (changes.additions || changes.deletions) ? (
            <span className="stats">
              <span className="added">+{changes.additions ?? 0}</span> <span className="removed">−{changes.deletions ?? 0}</span>
            </span>
          ) : null}
        </span>
      </a>
      <Menu
        label={`Actions for ${title || "New session"}`}
        className="icon-button small row-menu"
        items={[
          { label: "Rename…", icon: "edit", run: () => setRenaming(true) },
          { label: isRead ? "Mark as unread" : "Mark as read", icon: "check", run: () => markRead(host, resource, !isRead) },
          { label: isArchived ? "Unarchive" : "Archive", icon: "archive", run: () => archive(host, resource, !isArchived) },
          { label: "Delete", icon: "trash", isDangerous: true, run: () => remove(host, session) },
        ]}
      >
        <Icon name="more" />
      </Menu>
      {isRenaming && (
        <RenameDialog title={title} onClose={() => setRenaming(false)} onRename={(next) => rename(host, resource, next)} />
      )}
    </div>
  );
});
