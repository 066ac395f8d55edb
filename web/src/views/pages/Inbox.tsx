// Everything that waits for a person, from any session, answerable here.

import { useState } from "react";
import { hrefOf } from "../../app/address";
import { decide } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { canNotify, notificationsOn, setNotifications } from "../../app/notifications";
import type { URI } from "../../protocol/types";
import { firstLine } from "../../lib/text";
import { choicesOf, readInput } from "../../state/approval";
import type { InboxItem } from "../../state/inbox";
import { placeOf } from "../../state/sessions";
import { alike, editorsOf, waitingOf } from "../../state/waiting";
import type { Waiting } from "../../state/waiting";
import { Decide } from "../decide/Decide";
import { AgentMark } from "../ui/AgentMark";
import { Icon } from "../ui/Icon";

/** Asked for by a click, as browsers want it. */
function NotifyMe() {
  const [isOn, setOn] = useState(notificationsOn);
  if (isOn || !canNotify()) return null;
  return (
    <button type="button" className="button" onClick={() => void setNotifications(true).then(setOn)}>
      <Icon name="bell" /> Notify me when something does
    </button>
  );
}

/** Which agent asks, and about which project. */
function Whose({ session }: { session: URI }) {
  const summary = useApp((state) => state.sessions.find(({ resource }) => resource === session));
  if (!summary) return null;
  return (
    <span className="inbox-whose">
      <AgentMark provider={summary.provider} /> {placeOf(summary)}
    </span>
  );
}

/** What several sessions ask for in the same words is decided once. */
function Alike({ items }: { items: readonly InboxItem[] }) {
  const host = useHost();
  const drafts = useApp((state) => state.drafts);
  // Whoever has edited an input means that, and not what the others ask for.
  const isEdited = (item: Waiting) => item.kind === "approval" && drafts.get(editorsOf(item.chat, item.call.toolCallId)[1])?.isOwn === true;
  const groups = alike(items.flatMap(({ request }) => waitingOf(request)).filter((item) => !isEdited(item)));
  return groups.map((group) => {
    const [first] = group;
    const { approve } = choicesOf(first?.call.options);
    if (!first || !approve) return null;
    const { command = "" } = readInput(String(first.call.toolInput), first.call._meta);
    const answer = () => {
      for (const { chat, turnId, call } of group) decide(host, { chat, turnId, toolCallId: call.toolCallId }, { approved: true, option: approve.id ? approve : undefined });
    };
    return (
      <div key={first.id} className="inbox-alike">
        <p>
          {group.length} sessions ask for the same: {command ? <code>{firstLine(command, 80)}</code> : first.title}
        </p>
        <button type="button" className="button" onClick={answer}>
          {approve.label} in all {group.length}
        </button>
      </div>
    );
  });
}

export function Inbox() {
  const items = useApp((state) => state.inbox);
  return (
    <div className="page">
      <div className="page-body">
        <h1 tabIndex={-1}>Inbox</h1>
        {items.length === 0 ? (
          <div className="page-empty">
            <Icon name="inbox" />
            <p>Nothing waits for you</p>
            <small>When an agent in any session asks for an approval or an answer, you can decide here.</small>
            <NotifyMe />
          </div>
        ) : (
          <>
            <Alike items={items} />
            <ul className="inbox">
              {items.map((item) => (
                <li key={`${item.session}:${item.request.id}`} tabIndex={-1} data-waiting aria-label={item.sessionTitle || "New session"}>
                  <header>
                    <a href={hrefOf({ view: "session", session: item.session, chat: null })}>{item.sessionTitle || "New session"}</a>
                    <Whose session={item.session} />
                  </header>
                  {waitingOf(item.request).map((waiting) => (
                    <Decide key={waiting.id} item={waiting} />
                  ))}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  );
}
