// A sub-agent inside the tool call that started it: what it has done, its
// latest words, and the way to its own chat.

import { hrefOf } from "../../app/address";
import { useApp, useChannel } from "../../app/context";
import { Status } from "../../protocol/types";
import type { ChatState, ToolCall } from "../../protocol/types";
import { timeline } from "../../state/timeline";
import { summaryOf } from "../../state/toolKinds";
import { Icon } from "../ui/Icon";
import { Skeleton } from "../ui/Skeleton";
import { Body } from "./Entry";
import { useChosen } from "./memory";

interface Props {
  resource: string;
  title: string;
  agentName?: string;
  description?: string;
}

/** Entries that are shown in place; the whole chat is a click away. */
const SHOWN = 12;

export function Subagent({ resource, title, agentName, description }: Props) {
  const session = useApp((state) => state.currentSessionId);
  const [chosen, choose] = useChosen(resource);
  const chat = useChannel(resource, "chat");
  const isWorking = ((chat?.status ?? 0) & Status.InProgress) !== 0;
  const needsYou = ((chat?.status ?? 0) & Status.InputNeeded) === Status.InputNeeded;
  const isOpen = chosen ?? needsYou;
  const entries = chat && isOpen ? timeline(chat) : [];
  const shown = entries.slice(-SHOWN);
  const done = chat && summaryOf(callsIn(chat));
  const state = needsYou ? "needs you" : isWorking ? "working" : undefined;
  return (
    <div className="subagent">
      <div className="subagent-head">
        <button type="button" className="disclosure" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
          <Icon name="chevron" />
          <span className={`dot dot-${needsYou ? "needs-you" : isWorking ? "working" : "idle"}`} />
          <strong>{title || agentName || "Sub-agent"}</strong>
          {state && <span className="badge">{state}</span>}
          <span className="subagent-done">{(isWorking && chat?.activity) || done || description}</span>
        </button>
        {session && (
          <a className="link-button" href={hrefOf({ view: "session", session, chat: resource })}>
            Open
          </a>
        )}
      </div>
      {isOpen && (
        <div className="subagent-body">
          {!chat && <Skeleton shape="lines" />}
          {entries.length > SHOWN && <p className="muted">The last {SHOWN} entries. Open the chat to see all of it.</p>}
          {shown.map((entry, index) => (
            <article key={entry.id} className={`entry entry-${entry.kind}`}>
              <Body message={entry} chat={resource} isLast={index === shown.length - 1} isStreaming={isWorking && index === shown.length - 1} />
            </article>
          ))}
        </div>
      )}
    </div>
  );
}

function callsIn({ turns, activeTurn }: ChatState): ToolCall[] {
  return [...turns, ...(activeTurn ? [activeTurn] : [])].flatMap(({ responseParts }) => responseParts.flatMap((part) => (part.kind === "toolCall" ? [part.toolCall] : [])));
}
