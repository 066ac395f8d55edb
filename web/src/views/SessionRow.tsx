// One session in the list: what it is called, what it does, whose it is.

import { memo, useState } from "react";
import { useApp, useHost } from "../app/context";
import { rename } from "../app/sessions";
import { firstLine } from "../lib/text";
import type { SessionSummary } from "../protocol/types";
import { attemptOf } from "../state/attempts";
import { groupOf, placeOf } from "../state/sessions";
import { RenameDialog } from "./RenameDialog";
import { sessionActions } from "./sessionActions";
import { AgentMark } from "./ui/AgentMark";
import { Ago } from "./ui/Ago";
import { Icon } from "./ui/Icon";
import { ContextMenu, Menu } from "./ui/Menu";
import { StatusDot } from "./ui/StatusDot";

interface Props {
  session: SessionSummary;
  isCurrent: boolean;
  isPinned: boolean;
  href: string;
  /** While several are selected: whether this is one of them. */
  isSelected: boolean | undefined;
  onSelect: (session: SessionSummary, isRange: boolean) => void;
}

export const SessionRow = memo(function SessionRow({ session, isCurrent, isPinned, href, isSelected, onSelect }: Props) {
  const host = useHost();
  const [isRenaming, setRenaming] = useState(false);
  const [menuAt, setMenuAt] = useState<{ x: number; y: number }>();
  const agent = useApp((state) => state.root?.agents.find(({ provider }) => provider === session.provider)?.displayName);
  const { resource, title, activity, modifiedAt, changes } = session;
  const attempt = attemptOf(session);
  const group = groupOf(session);
  const name = title || "New session";
  const actions = sessionActions(host, session, { isPinned, onRename: () => setRenaming(true), onSelect: () => onSelect(session, false) });
  const onClick = (event: React.MouseEvent) => {
    const isSelecting = isSelected !== undefined || event.ctrlKey || event.metaKey || event.shiftKey;
    if (!isSelecting) return;
    event.preventDefault();
    onSelect(session, event.shiftKey);
  };
  return (
    <div
      className={`session-row${isCurrent ? " current" : ""}${isSelected ? " selected" : ""} row-${group}`}
      data-session={resource}
      onContextMenu={(event) => {
        event.preventDefault();
        setMenuAt({ x: event.clientX, y: event.clientY });
      }}
    >
      <a href={href} aria-current={isCurrent ? "page" : undefined} onClick={onClick} draggable={false}>
        {isSelected === undefined ? <StatusDot group={group} /> : <input type="checkbox" tabIndex={-1} aria-label={`Select ${name}`} checked={isSelected} readOnly />}
        <span className="session-text">
          <span className="session-line">
            <bdi className="session-title">{name}</bdi>
            {isPinned && (
              <span className="session-pin" title="Pinned">
                <Icon name="pin" />
              </span>
            )}
            <Ago at={modifiedAt} />
          </span>
          <span className="session-line session-detail">
            <AgentMark provider={session.provider} name={agent} />
            <bdi className="session-about">{activity ? firstLine(activity, 60) : placeOf(session) || agent || session.provider}</bdi>
            {attempt && (
              <span className="badge" title={`Attempt ${attempt.number} of ${attempt.count}`}>
                {attempt.number}/{attempt.count}
              </span>
            )}
            {changes && (changes.additions || changes.deletions) ? (
              <span className="stats">
                <span className="added">+{changes.additions ?? 0}</span> <span className="removed">−{changes.deletions ?? 0}</span>
              </span>
            ) : null}
          </span>
        </span>
      </a>
      <Menu label={`Actions for ${name}`} className="icon-button small row-menu" items={actions}>
        <Icon name="more" />
      </Menu>
      {menuAt && <ContextMenu label={`Actions for ${name}`} items={actions} at={menuAt} onClose={() => setMenuAt(undefined)} />}
      {isRenaming && <RenameDialog title={title} onClose={() => setRenaming(false)} onRename={(next) => rename(host, resource, next)} />}
    </div>
  );
});
