// One entry of the timeline, by kind.

import { memo } from "react";
import type { UiMessage } from "../../state/appState";
import type { FoldedTurn } from "../../state/turns";
import { Markdown } from "../ui/Markdown";
import { BashEntry } from "./BashEntry";
import { ContentRefView } from "./ContentRefView";
import { ErrorEntry } from "./ErrorEntry";
import { FoldButton, FoldedLine } from "./Fold";
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
  /** On the first entry of a turn that is folded: what was in it. */
  folded?: FoldedTurn;
  /** On the first entry of a turn that can be folded. */
  onFold?: (turnId: string) => void;
}

export const Entry = memo(function Entry({ message, chat, isLast, isStreaming, turnStart, folded, onFold }: Props) {
  const toggle = () => onFold?.(message.turnId ?? "");
  return (
    <article className={`entry entry-${message.kind}`} data-entry={message.kind} aria-label={LABELS[message.kind]}>
      {onFold && <FoldButton isFolded={folded !== undefined} onToggle={toggle} />}
      <Body message={message} chat={chat} isLast={isLast} isStreaming={isStreaming} />
      {folded && <FoldedLine message={message} folded={folded} onToggle={toggle} />}
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

function Body({ message, chat, isLast, isStreaming }: Pick<Props, "message" | "chat" | "isLast" | "isStreaming">) {
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
