// One entry of the timeline, by kind.

import { memo } from "react";
import type { UiMessage } from "../../state/appState";
import { Markdown } from "../ui/Markdown";
import { BashEntry } from "./BashEntry";
import { ContentRefView } from "./ContentRefView";
import { ErrorEntry } from "./ErrorEntry";
import { QuestionEntry } from "./QuestionEntry";
import { ThinkingEntry } from "./ThinkingEntry";
import { ToolEntry } from "./ToolEntry";
import { TurnFooter } from "./TurnFooter";
import { UserEntry } from "./UserEntry";

interface Props {
  message: UiMessage;
  chat: string;
  isLast: boolean;
  isStreaming: boolean;
  /** Set on the last entry of a finished turn: what began it. */
  turnStart?: UiMessage;
}

export const Entry = memo(function Entry({ message, chat, isLast, isStreaming, turnStart }: Props) {
  return (
    <article className={`entry entry-${message.kind}`} data-entry={message.kind} aria-label={LABELS[message.kind]}>
      <Body message={message} chat={chat} isLast={isLast} isStreaming={isStreaming} />
      {turnStart && <TurnFooter start={turnStart} chat={chat} isLast={isLast} text={message.kind === "assistant" ? message.text : ""} />}
    </article>
  );
});

const LABELS: Record<UiMessage["kind"], string> = {
  user: "You",
  assistant: "Assistant",
  thinking: "Reasoning",
  tool: "Tool",
  bash: "Shell command",
  error: "Error",
  system: "Note",
};

function Body({ message, chat, isLast, isStreaming }: Omit<Props, "turnStart">) {
  switch (message.kind) {
    case "user":
      return <UserEntry message={message} chat={chat} />;
    case "assistant":
      if (message.contentRef) return <ContentRefView content={message.contentRef} />;
      return <Markdown text={message.text} isStreaming={isStreaming} />;
    case "thinking":
      return <ThinkingEntry text={message.text} isStreaming={isStreaming} />;
    case "tool":
      return <ToolEntry message={message} chat={chat} />;
    case "bash":
      return <BashEntry message={message} />;
    case "error":
      return <ErrorEntry message={message} chat={chat} isLast={isLast} />;
    case "system":
      if (message.question) return <QuestionEntry message={message} chat={chat} />;
      return <div className="note">{message.text && <Markdown text={message.text} />}</div>;
  }
}
