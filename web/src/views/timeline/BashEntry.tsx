import type { UiMessage } from "../../state/appState";
import { ToolContent } from "./ToolContent";

export function BashEntry({ message }: { message: UiMessage }) {
  const result = message.bashResult;
  const call = message.toolCall;
  const isRunning = message.turn?.state === "running";
  return (
    <div className="bash">
      <div className="bash-command">
        <span aria-hidden="true">$</span> <code>{result?.command}</code>
        {result?.exitCode !== undefined && (
          <span className={result.exitCode === 0 ? "badge ok" : "badge bad"}>exit {result.exitCode}</span>
        )}
        {isRunning && <span className="badge">running</span>}
      </div>
      {call && "content" in call && call.content ? (
        <ToolContent items={call.content} />
      ) : (
        result?.output && <pre className="output">{result.output}</pre>
      )}
    </div>
  );
}
