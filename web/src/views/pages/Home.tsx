import { hrefOf } from "../../app/address";
import { useApp } from "../../app/context";
import { ago } from "../../lib/time";
import { groupOf } from "../../state/sessions";
import { Icon } from "../ui/Icon";
import { StatusDot } from "../ui/StatusDot";

/** What to go on with. */
export function Home() {
  const sessions = useApp((state) => state.sessions);
  const waiting = useApp((state) => state.inbox.length);
  const recent = sessions.filter((session) => groupOf(session) !== "archived").slice(0, 6);
  return (
    <div className="page">
      <div className="page-body home">
        <h1>Welcome to the inn</h1>
        <p className="muted">Agents work here; you come and go.</p>
        <div className="button-row">
          <a className="button primary" href="#/new">
            <Icon name="add" /> New session
          </a>
          {waiting > 0 && (
            <a className="button" href="#/inbox">
              <Icon name="inbox" /> {waiting} waiting for you
            </a>
          )}
        </div>
        {recent.length > 0 && (
          <>
            <h2>Recent</h2>
            <ul className="recent">
              {recent.map((session) => (
                <li key={session.resource}>
                  <a href={hrefOf({ view: "session", session: session.resource, chat: null })}>
                    <StatusDot group={groupOf(session)} />
                    <span>{session.title || "New session"}</span>
                    <time dateTime={session.modifiedAt}>{ago(session.modifiedAt)}</time>
                  </a>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  );
}
