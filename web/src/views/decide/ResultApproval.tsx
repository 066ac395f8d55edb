import { decideResult } from "../../app/chat";
import { useHost } from "../../app/context";
import type { PendingResultCall } from "../../protocol/types";
import { titleOf } from "../../state/timeline";
import { focusNext } from "./focus";

/** May the agent see what the tool produced? */
export function ResultApproval({ chat, turnId, call }: { chat: string; turnId: string; call: PendingResultCall }) {
  const host = useHost();
  const choose = (approved: boolean) => {
    decideResult(host, { chat, turnId, toolCallId: call.toolCallId }, approved);
    focusNext();
  };
  return (
    <div className="approval" data-call={call.toolCallId}>
      <p className="decide-title">Pass this result on to the agent?</p>
      <p className="call-name">{titleOf(call)}</p>
      <div className="button-row decide-actions">
        <button type="button" className="button primary" data-decision="approve" onClick={() => choose(true)}>
          Pass it on <kbd>Alt Y</kbd>
        </button>
        <button type="button" className="button danger" data-decision="deny" onClick={() => choose(false)}>
          Withhold <kbd>Alt N</kbd>
        </button>
      </div>
    </div>
  );
}
