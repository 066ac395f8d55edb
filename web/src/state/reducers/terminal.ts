import type { TerminalAction, TerminalState } from "../../protocol/types";
import { replaceAt, withField } from "./lists";

export function reduceTerminal(state: TerminalState, action: TerminalAction): TerminalState {
  switch (action.type) {
    case "terminal/data":
      return { ...state, content: appended(state.content, action.data) };
    case "terminal/resized":
      return { ...state, cols: action.cols, rows: action.rows };
    case "terminal/claimed":
      return { ...state, claim: action.claim };
    case "terminal/titleChanged":
      return { ...state, title: action.title };
    case "terminal/cwdChanged":
      return { ...state, cwd: action.cwd };
    case "terminal/exited":
      return { ...state, lifecycle: exited(action.exitCode) };
    case "terminal/cleared":
      return { ...state, content: [] };
    case "terminal/commandDetectionAvailable":
      return { ...state, supportsCommandDetection: true };
    case "terminal/commandExecuted": {
      const { commandId, commandLine, timestamp } = action;
      const part = { type: "command" as const, commandId, commandLine, timestamp, output: "", isComplete: false };
      return { ...state, content: [...state.content, part], supportsCommandDetection: true };
    }
    case "terminal/commandFinished": {
      const { commandId, exitCode, durationMs } = action;
      const at = state.content.findIndex((part) => part.type === "command" && part.commandId === commandId);
      const part = state.content[at];
      if (part?.type !== "command") return state;
      const done = withField(withField({ ...part, isComplete: true }, "exitCode", exitCode), "durationMs", durationMs);
      return { ...state, content: replaceAt(state.content, at, done) };
    }
    default:
      return state;
  }
}

function exited(exitCode: number | undefined): TerminalState["lifecycle"] {
  return exitCode === undefined ? { status: "exited" } : { status: "exited", exitCode };
}

function appended(content: TerminalState["content"], data: string): TerminalState["content"] {
  const at = content.length - 1;
  const last = content[at];
  if (last?.type === "command" && !last.isComplete) {
    return replaceAt(content, at, { ...last, output: last.output + data });
  }
  if (last?.type === "unclassified") return replaceAt(content, at, { ...last, value: last.value + data });
  return [...content, { type: "unclassified", value: data }];
}
