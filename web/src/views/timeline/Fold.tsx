import { firstLine } from "../../lib/text";
import { took } from "../../lib/time";
import type { UiMessage } from "../../state/appState";
import type { FoldedTurn } from "../../state/turns";
import { Icon } from "../ui/Icon";

interface FoldProps {
  isFolded: boolean;
  onToggle: () => void;
}

/** Beside what begins a turn. */
export function FoldButton({ isFolded, onToggle }: FoldProps) {
  const label = isFolded ? "Unfold this turn" : "Fold this turn";
  return (
    <button type="button" className="fold-button" aria-expanded={!isFolded} aria-label={label} title={label} onClick={onToggle}>
      <Icon name="chevron" />
    </button>
  );
}

/** In place of all that a turn did. */
export function FoldedLine({ message, folded, onToggle }: { message: UiMessage; folded: FoldedTurn; onToggle: () => void }) {
  const { tools, hasFailed, answer } = folded;
  return (
    <button type="button" className="folded-turn" onClick={onToggle}>
      {hasFailed && <span className="badge bad">failed</span>}
      {message.turn?.state === "cancelled" && <span className="badge">stopped</span>}
      {tools > 0 && <span className="badge">{tools === 1 ? "1 tool" : `${tools} tools`}</span>}
      <span className="folded-answer">{firstLine(answer.replace(/[`*#>]+/g, ""), 160) || "…"}</span>
      {message.turn?.duration !== undefined && <span>{took(message.turn.duration)}</span>}
    </button>
  );
}
