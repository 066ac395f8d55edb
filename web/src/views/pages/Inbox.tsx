// Everything that waits for a person, from any session, answerable here.

import { hrefOf } from "../../app/address";
import { useApp } from "../../app/context";
import { waitingOf } from "../../state/waiting";
import { Decide } from "../decide/Decide";
import { Icon } from "../ui/Icon";

export function Inbox() {
  const items = useApp((state) => state.inbox);
  return (
    <div className="page">
      <div className="page-body">
        <h1 tabIndex={-1}>Inbox</h1>
        {items.length === 0 ? (
          <div className="page-empty">
            <Icon name="check" />
            <p>Nothing waits for you.</p>
            <small>What an agent asks in any session comes here, and can be decided here.</small>
          </div>
        ) : (
          <ul className="inbox">
            {items.map((item) => (
              <li key={`${item.session}:${item.request.id}`} tabIndex={-1} data-waiting aria-label={item.sessionTitle || "New session"}>
                <header>
                  <a href={hrefOf({ view: "session", session: item.session, chat: null })}>{item.sessionTitle || "New session"}</a>
                </header>
                {waitingOf(item.request).map((waiting) => (
                  <Decide key={waiting.id} item={waiting} />
                ))}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
