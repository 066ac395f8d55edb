import { go } from "../../app/address";
import { useApp, useHost } from "../../app/context";
import { fork } from "../../app/sessions";
import type { UiMessage } from "../../state/appState";
import { canForkIn, costIn } from "../../state/model";
import { money } from "../../lib/text";
import { took, tokens } from "../../lib/time";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";

interface Props {
  start: UiMessage;
  chat: string;
  isLast: boolean;
  text: string;
}

/** What is known once a turn has ended, and what can be done from there. */
export function TurnFooter({ start, chat, isLast, text }: Props) {
  const host = useHost();
  const session = useApp((state) => state.currentSessionId);
  const canFork = useApp(canForkIn);
  const { turn, turnId } = start;
  const onFork = async () => {
    if (!session || !turnId) return;
    const forked = await fork(host, session, chat, turnId);
    if (forked) go({ view: "session", session, chat: forked });
  };
  const usage = turn?.usage;
  const cost = costIn(usage, "cost");
  return (
    <footer className={isLast ? "turn-footer last" : "turn-footer"}>
      {turn?.state === "cancelled" && <span className="turn-stopped">Stopped</span>}
      {turn?.duration !== undefined && <span>{took(turn.duration)}</span>}
      {usage && (
        <span title="Tokens in and out">
          {tokens(usage.inputTokens ?? 0)} in · {tokens(usage.outputTokens ?? 0)} out
        </span>
      )}
      {cost && <span title="What this turn cost, as the agent counts">{money(cost)}</span>}
      {usage?.model && <span>{usage.model}</span>}
      <span className="turn-actions">
        {text && <CopyButton text={text} label="Copy answer" />}
        {canFork && turn?.state !== "running" && (
          <button type="button" className="icon-button small" onClick={() => void onFork()} aria-label="Fork from here" title="Fork from here">
            <Icon name="branch" />
          </button>
        )}
      </span>
    </footer>
  );
}
