// The line under a conversation that is being answered: what goes on, and for
// how long. Time that was spent waiting for somebody does not count; while it
// is, that is what is counted.

import { useApp } from "../../app/context";
import { Status } from "../../protocol/types";
import { workedFor } from "../../state/pace";
import { Elapsed } from "./ToolGroup";
import { useNow } from "./useNow";

export function Working({ chat }: { chat: string }) {
  const activity = useApp((state) => state.chat?.activity);
  const isBlocked = useApp((state) => ((state.chat?.status ?? 0) & Status.InputNeeded) === Status.InputNeeded);
  const isStarting = useApp((state) => state.session?.lifecycle === "creating");
  const startedAt = useApp((state) => state.chat?.activeTurn?.startedAt);
  const wait = useApp((state) => state.pace.waits.get(chat));
  const now = useNow(startedAt !== undefined);
  const elapsed = isBlocked ? wait?.since !== undefined && now - wait.since : workedFor(startedAt, wait, now);
  return (
    <div className={isBlocked ? "working is-blocked" : "working"} aria-hidden="true">
      <span className="working-dots" />
      <span>{isBlocked ? "Waiting for you" : isStarting ? "Starting the agent" : activity || "Working"}</span>
      {!isStarting && elapsed !== false && <Elapsed ms={elapsed} />}
    </div>
  );
}
