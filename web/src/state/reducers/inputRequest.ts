// Questions inside the running turn: asked, answered bit by bit, completed.

import { Status } from "../../protocol/types";
import type { ChatAction, ChatState, InputAnswer, InputRequest, ResponsePart } from "../../protocol/types";
import { replaceAt, withField } from "./lists";
import { withActivity, withFlag } from "./status";

type InputPart = Extract<ResponsePart, { kind: "inputRequest" }>;
type Action = Extract<ChatAction, { type: `chat/input${string}` }>;

export function reduceInput(state: ChatState, action: Action): ChatState {
  const turn = state.activeTurn;
  if (!turn) return state;
  const parts = turn.responseParts;
  const id = action.type === "chat/inputRequested" ? action.request.id : action.requestId;
  const at = parts.findIndex((part) => part.kind === "inputRequest" && !part.response && part.request.id === id);
  const open = parts[at] as InputPart | undefined;
  const put = (part: InputPart): ChatState => {
    const responseParts = open ? replaceAt(parts, at, part) : [...parts, part];
    return { ...state, activeTurn: { ...turn, responseParts } };
  };
  switch (action.type) {
    case "chat/inputRequested": {
      const answers = action.request.answers ?? open?.request.answers;
      const request = withField(action.request, "answers", answers);
      const next = withActivity(put({ kind: "inputRequest", request }));
      return { ...next, status: withFlag(next.status, Status.IsRead, false) };
    }
    case "chat/inputAnswerChanged": {
      if (!open) return state;
      const { [action.questionId]: _, ...others } = open.request.answers ?? {};
      const answers = action.answer ? { ...others, [action.questionId]: action.answer } : others;
      return put({ ...open, request: withAnswers(open.request, answers) });
    }
    case "chat/inputCompleted": {
      if (!open) return state;
      const request = withAnswers(open.request, { ...open.request.answers, ...action.answers });
      return withActivity(put({ ...open, request, response: action.response }));
    }
  }
}

function withAnswers(request: InputRequest, answers: Record<string, InputAnswer>): InputRequest {
  return withField(request, "answers", Object.keys(answers).length ? answers : undefined);
}
