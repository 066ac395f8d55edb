import { useState } from "react";
import { useApp } from "../app/context";

/**
 * Tells a screen reader what happened, not every word as it arrives: that the
 * agent began, that it is done, that something waits.
 */
export function Announcer() {
  const isStreaming = useApp((state) => state.streaming);
  const waiting = useApp((state) => state.inbox.length);
  const chat = useApp((state) => state.currentChatId);
  const [seen, setSeen] = useState({ chat, isStreaming, waiting });
  const [text, setText] = useState("");
  if (seen.chat !== chat || seen.isStreaming !== isStreaming || seen.waiting !== waiting) {
    setSeen({ chat, isStreaming, waiting });
    if (waiting > seen.waiting) setText("An agent needs your decision");
    else if (chat === seen.chat && isStreaming !== seen.isStreaming) setText(isStreaming ? "The agent is working" : "The agent is done");
  }
  return (
    <div className="sr-only" role="status" aria-live="polite">
      {text}
    </div>
  );
}
