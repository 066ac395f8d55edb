// A sub-agent inside the tool call that started it: its latest words, and the
// way to its own chat.

import { useState } from "react";
import { hrefOf } from "../../app/address";
import { useApp, useChannel } from "../../app/context";
import { Status } from "../../protocol/types";
import { timeline } from "../../state/timeline";
import { Icon } from "../ui/Icon";
import { Body } from "./Entry";

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
  const [chosen, setChosen] = useState<boolean>();
  const chat = useChannel(resource, "chat");
  const isWorking = ((chat?.status ?? 0) & Status.InProgress) !== 0;
  const needsYou = ((chat?.status ?? 0) & Status.InputNeeded) === Status.InputNeeded;
  const isOpen = chosen ?? needsYou;
  const entries = chat && isOpen ? timeline(chat) : [];
  const shown = entries.slice(-SHOWN);
  return (
    <div className="subagent">
      <div className="subagent-head">
        <button type="button" className="disclosure" aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
          <Icon name="chevron" />
          <span className={`dot dot-${needsYou ? "needs-you" : isWorking ? "working" : "idle"}`} />
          <strong>{title || agentName || "Sub-agent"}</strong>
          {description && <span className="muted">{description}</span>}
        </button>
        {session && (
          <a className="link-button" href={hrefOf({ view: "session", session, chat: resource })}>
            Open
          </a>
        )}
      </div>
      {isOpen && (
        <div className="subagent-body">
          {!chat && <p className="muted">Loading…</p>}
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
