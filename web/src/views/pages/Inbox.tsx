// Everything that waits for a person, from any session, answerable here.

import { hrefOf } from "../../app/address";
import { useApp } from "../../app/context";
import type { InboxItem } from "../../state/inbox";
import { Approval } from "../decide/Approval";
import { AuthNeeded } from "../decide/AuthNeeded";
import { QuestionForm } from "../decide/QuestionForm";
import { ResultApproval } from "../decide/ResultApproval";
import { ToolContent } from "../timeline/ToolContent";
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
                <Request item={item} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

function Request({ item: { request } }: { item: InboxItem }) {
  switch (request.kind) {
    case "chatInput":
      return <QuestionForm chat={request.chat} request={request.request} />;
    case "toolConfirmation": {
      const { chat, turnId, toolCall } = request;
      if (toolCall.status === "pending-confirmation") return <Approval chat={chat} turnId={turnId} call={toolCall} />;
      return (
        <>
          {toolCall.content && <ToolContent items={toolCall.content} />}
          <ResultApproval chat={chat} turnId={turnId} call={toolCall} />
        </>
      );
    }
    case "toolAuthentication":
      return <AuthNeeded chat={request.chat} turnId={request.turnId} call={request.toolCall} />;
  }
}
