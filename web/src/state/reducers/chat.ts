import { Status } from "../../protocol/types";
import type { ActiveTurn, ChatAction, ChatState, ResponsePart } from "../../protocol/types";
import { reduceInput } from "./inputRequest";
import { replaceAt, upsert, withField, without } from "./lists";
import { reducePendingMessages } from "./pendingMessages";
import { withDirectory, withoutDirectory } from "./session";
import { withActivity, withFlag } from "./status";
import { reduceToolCall } from "./toolCall";
import { endTurn, loadTurns, resumeTurn, startTurn, truncate } from "./turns";

export function reduceChat(state: ChatState, action: ChatAction): ChatState {
  switch (action.type) {
    case "chat/turnStarted":
      return startTurn(state, action);
    case "chat/delta":
      return appendText(state, action, "markdown");
    case "chat/reasoning":
      return appendText(state, action, "reasoning");
    case "chat/responsePart":
      if (action.part.kind === "error") return state;
      return inTurn(state, action.turnId, (turn) => withPart(turn, action.part));
    case "chat/usage":
      return inTurn(state, action.turnId, (turn) => ({ ...turn, usage: action.usage }));
    case "chat/turnComplete":
      return endTurn(state, action, "complete");
    case "chat/turnCancelled":
      return endTurn(state, action, "cancelled");
    case "chat/error":
      return endTurn(state, action, "error", action.part);
    case "chat/turnResume":
      return resumeTurn(state, action.turnId);
    case "chat/truncated":
      return truncate(state, action.turnId);
    case "chat/turnsLoaded":
      return loadTurns(state, action);
    case "chat/toolCallStart": {
      const { type: _, turnId, ...call } = action;
      const part: ResponsePart = { kind: "toolCall", toolCall: { ...call, status: "streaming" } };
      return inTurn(state, turnId, (turn) => withPart(turn, part));
    }
    case "chat/toolCallDelta":
    case "chat/toolCallContentChanged":
      return inToolCall(state, action);
    case "chat/toolCallReady":
    case "chat/toolCallConfirmed":
    case "chat/toolCallComplete":
    case "chat/toolCallResultConfirmed":
    case "chat/toolCallAuthRequired":
    case "chat/toolCallAuthResolved": {
      const next = inToolCall(state, action);
      return next === state ? state : withActivity(next);
    }
    case "chat/inputRequested":
    case "chat/inputAnswerChanged":
    case "chat/inputCompleted":
      return reduceInput(state, action);
    case "chat/pendingMessageSet":
    case "chat/pendingMessageRemoved":
    case "chat/queuedMessagesReordered":
      return reducePendingMessages(state, action);
    case "chat/draftChanged":
      return withField(state, "draft", action.draft);
    case "chat/isReadChanged":
      return { ...state, status: withFlag(state.status, Status.IsRead, action.isRead) };
    case "chat/isArchivedChanged":
      return { ...state, status: withFlag(state.status, Status.IsArchived, action.isArchived) };
    case "chat/activityChanged":
      return withField(state, "activity", action.activity);
    case "chat/movableChanged":
      return { ...state, movable: action.movable };
    case "chat/changesetsChanged":
      return withField(state, "changesets", action.changesets);
    case "chat/canvasesChanged":
      return withField(state, "canvases", action.canvases);
    case "chat/workingDirectorySet":
      return { ...state, workingDirectories: withDirectory(state.workingDirectories, action.directory) };
    case "chat/workingDirectoryRemoved":
      return withField(state, "workingDirectories", withoutDirectory(state.workingDirectories, action.directory));
    case "chat/backgroundWorkSet": {
      const { work } = action;
      const same = (known: { id: string }) => known.id === work.id;
      return { ...state, backgroundWork: upsert(state.backgroundWork, work, same) };
    }
    case "chat/backgroundWorkRemoved":
      return withField(state, "backgroundWork", without(state.backgroundWork, (work) => work.id === action.id));
    default:
      return state;
  }
}

function inTurn(state: ChatState, turnId: string, change: (turn: ActiveTurn) => ActiveTurn): ChatState {
  const turn = state.activeTurn;
  if (turn?.id !== turnId) return state;
  const next = change(turn);
  return next === turn ? state : { ...state, activeTurn: next };
}

function withPart(turn: ActiveTurn, part: ResponsePart): ActiveTurn {
  return { ...turn, responseParts: [...turn.responseParts, part] };
}

type TextAction = Extract<ChatAction, { type: "chat/delta" | "chat/reasoning" }>;

function appendText(state: ChatState, action: TextAction, kind: "markdown" | "reasoning"): ChatState {
  return inTurn(state, action.turnId, (turn) => {
    const at = turn.responseParts.findIndex((part) => idOf(part) === action.partId);
    const part = turn.responseParts[at];
    if (part?.kind !== kind) return turn;
    const next = { ...part, content: part.content + action.content };
    return { ...turn, responseParts: replaceAt(turn.responseParts, at, next) };
  });
}

function idOf(part: ResponsePart): string | undefined {
  if (part.kind === "markdown" || part.kind === "reasoning") return part.id;
  return part.kind === "toolCall" ? part.toolCall.toolCallId : undefined;
}

function inToolCall(state: ChatState, action: Parameters<typeof reduceToolCall>[1]): ChatState {
  return inTurn(state, action.turnId, (turn) => {
    const isIt = (part: ResponsePart) =>
      part.kind === "toolCall" && part.toolCall.toolCallId === action.toolCallId;
    const at = turn.responseParts.findIndex(isIt);
    const part = turn.responseParts[at];
    if (part?.kind !== "toolCall") return turn;
    const toolCall = reduceToolCall(part.toolCall, action);
    if (toolCall === part.toolCall) return turn;
    return { ...turn, responseParts: replaceAt(turn.responseParts, at, { ...part, toolCall }) };
  });
}
