import type { UiMessage } from "../../state/appState";
import { LongText } from "../ui/LongText";
import { ToolContent } from "./ToolContent";

/** A command that a person ran: its terminal while it runs, then its output. */
export function BashEntry({ message }: { message: UiMessage }) {
  const result = message.bashResult;
  const call = message.toolCall;
  const isRunning = message.turn?.state === "running";
  // A command that was taken over goes on in its terminal after the turn.
  const isOpen = isRunning || (result?.exitCode === undefined && !result?.output);
  const live = isOpen && call && "content" in call ? call.content : undefined;
  return (
    <div className="bash">
      <div className="bash-command">
        <span aria-hidden="true">$</span> <code>{result?.command}</code>
        {result?.exitCode !== undefined && (
          <span className={result.exitCode === 0 ? "badge ok" : "badge bad"}>exit {result.exitCode}</span>
        )}
        {isRunning && <span className="badge">running</span>}
      </div>
      {live ? <ToolContent items={live} kind="command" isLive /> : result?.output && <LongText text={result.output} fromEnd isPrinted />}
    </div>
  );
}
