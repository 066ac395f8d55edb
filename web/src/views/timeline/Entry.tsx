// One entry of the timeline, by kind.

import { memo } from "react";
import type { UiMessage } from "../../state/appState";
import type { Row } from "../../state/turns";
import { Markdown } from "../ui/Markdown";
import { BashEntry } from "./BashEntry";
import { ContentRefView } from "./ContentRefView";
import { ErrorEntry } from "./ErrorEntry";
import { FoldButton, FoldedLine } from "./Fold";
import { Note } from "./Note";
import { QuestionEntry } from "./QuestionEntry";
import { ThinkingEntry } from "./ThinkingEntry";
import { ToolEntry } from "./ToolEntry";
import { ToolGroup } from "./ToolGroup";
import { TurnFooter } from "./TurnFooter";
import { UserEntry } from "./UserEntry";

interface Props {
  row: Row;
  chat: string;
  isLast: boolean;
  isStreaming: boolean;
  onFold: (turnId: string) => void;
  onOpenGroup: (id: string, isOpen: boolean) => void;
}

export const Entry = memo(function Entry({ row, chat, isLast, isStreaming, onFold, onOpenGroup }: Props) {
  const { message, group, isInGroup, turnStart, answer, canFold, folded } = row;
  const toggle = () => onFold(message.turnId ?? "");
  const footer = turnStart && <TurnFooter start={turnStart} chat={chat} isLast={isLast} text={answer ?? ""} />;
  if (group) {
    return (
      <div className="entry entry-group" data-entry="group">
        <ToolGroup group={group} onOpen={onOpenGroup} />
        {footer}
      </div>
    );
  }
  return (
    <article className={`entry entry-${message.kind}${isInGroup ? " in-group" : ""}`} data-entry={message.kind} data-key={row.key} aria-label={LABELS[message.kind]}>
      {canFold && <FoldButton isFolded={folded !== undefined} onToggle={toggle} />}
      <Body message={message} chat={chat} isLast={isLast} isStreaming={isStreaming} />
      {folded && <FoldedLine message={message} folded={folded} onToggle={toggle} />}
      {footer}
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

interface BodyProps {
  message: UiMessage;
  chat: string;
  isLast: boolean;
  isStreaming: boolean;
}

export function Body({ message, chat, isLast, isStreaming }: BodyProps) {
  switch (message.kind) {
    case "user":
      return <UserEntry message={message} chat={chat} />;
    case "assistant":
      if (message.contentRef) return <ContentRefView content={message.contentRef} />;
      return <Markdown text={message.text} isStreaming={isStreaming} />;
    case "thinking":
      return <ThinkingEntry id={message.id} text={message.text} isStreaming={isStreaming} />;
    case "tool":
      return <ToolEntry message={message} chat={chat} />;
    case "bash":
      return <BashEntry message={message} />;
    case "error":
      return <ErrorEntry message={message} chat={chat} isLast={isLast} />;
    case "system":
      if (message.question) return <QuestionEntry message={message} chat={chat} />;
      return <Note id={message.id} text={message.text} from={message.from} />;
  }
}
