// One tool call's life: a pure step from state to state. Actions that do not
// fit the state leave it as it is.

import type { ToolCall, ToolCallAction, ToolCallBase, ToolCallContributor } from "../../protocol/types";

type Later = Exclude<ToolCallAction, { type: "chat/toolCallStart" }>;
type Of<T extends Later["type"]> = Extract<Later, { type: T }>;

export function reduceToolCall(call: ToolCall, action: Later): ToolCall {
  switch (action.type) {
    case "chat/toolCallDelta":
      return delta(call, action);
    case "chat/toolCallReady":
      return ready(call, action);
    case "chat/toolCallConfirmed":
      return confirmed(call, action);
    case "chat/toolCallComplete":
      return complete(call, action);
    case "chat/toolCallResultConfirmed":
      return resultConfirmed(call, action);
    case "chat/toolCallContentChanged":
      if (call.status !== "running") return call;
      return compact({ ...call, content: action.content, _meta: action._meta ?? call._meta });
    case "chat/toolCallAuthRequired":
      if (call.status !== "running" || call.contributor?.kind !== "mcp") return call;
      return compact({ ...call, status: "auth-required", auth: action.auth, _meta: action._meta ?? call._meta });
    case "chat/toolCallAuthResolved": {
      if (call.status !== "auth-required") return call;
      const { auth: _, ...rest } = call;
      return compact({ ...rest, status: "running", _meta: action._meta ?? call._meta });
    }
  }
}

/** What a turn's end makes of a call that has not ended. */
export function skipped(call: ToolCall): ToolCall {
  if (call.status === "completed" || call.status === "cancelled") return call;
  return compact({
    ...base(call),
    status: "cancelled",
    invocationMessage: call.invocationMessage ?? "",
    toolInput: call.status === "streaming" ? undefined : call.toolInput,
    reason: "skipped",
  });
}

function delta(call: ToolCall, action: Of<"chat/toolCallDelta">): ToolCall {
  if (call.status !== "streaming") return call;
  const { content, invocationMessage, _meta } = action;
  return compact({
    ...call,
    partialInput: content === undefined ? call.partialInput : (call.partialInput ?? "") + content,
    invocationMessage: invocationMessage ?? call.invocationMessage,
    _meta: _meta ?? call._meta,
  });
}

function ready(call: ToolCall, action: Of<"chat/toolCallReady">): ToolCall {
  const { status } = call;
  if (status !== "streaming" && status !== "running" && status !== "pending-confirmation") return call;
  const common = {
    ...base(call),
    intention: action.intention ?? call.intention,
    contributor: refined(call.contributor, action.contributor),
    toolInput: action.toolInput ?? (status === "streaming" ? undefined : call.toolInput),
    invocationMessage: action.invocationMessage,
    _meta: action._meta ?? call._meta,
  };
  if (action.confirmed !== undefined) {
    return compact({ ...common, status: "running", confirmed: action.confirmed });
  }
  const before = status === "pending-confirmation" ? call : undefined;
  return compact({
    ...common,
    status: "pending-confirmation",
    confirmationTitle: action.confirmationTitle ?? before?.confirmationTitle,
    riskAssessment: action.riskAssessment ?? before?.riskAssessment,
    edits: action.edits ?? before?.edits,
    editable: action.editable ?? before?.editable,
    options: action.options ?? before?.options,
  });
}

/** A call never moves from one client to another, nor to or from a client. */
function refined(
  current: ToolCallContributor | undefined,
  next: ToolCallContributor | undefined,
): ToolCallContributor | undefined {
  if (!next) return current;
  if (current?.kind === "client") {
    return next.kind === "client" && next.clientId === current.clientId ? next : current;
  }
  return next.kind === "client" ? current : next;
}

function confirmed(call: ToolCall, action: Of<"chat/toolCallConfirmed">): ToolCall {
  if (call.status !== "pending-confirmation") return call;
  const common = {
    ...base(call),
    invocationMessage: call.invocationMessage,
    toolInput: call.toolInput,
    _meta: action._meta ?? call._meta,
    selectedOption: call.options?.find((option) => option.id === action.selectedOptionId),
  };
  if (!action.approved) {
    return compact({
      ...common,
      status: "cancelled",
      reason: action.reason ?? "denied",
      reasonMessage: action.reasonMessage,
      userSuggestion: action.userSuggestion,
    });
  }
  const edited = action.editedToolInput;
  const replaces = edited !== undefined && typeof call.toolInput === "string";
  return compact({
    ...common,
    status: "running",
    toolInput: replaces ? edited : call.toolInput,
    confirmed: action.confirmed ?? "not-needed",
  });
}

function complete(call: ToolCall, action: Of<"chat/toolCallComplete">): ToolCall {
  const { result } = action;
  const paused = call.status === "auth-required";
  if (call.status !== "running" && call.status !== "pending-confirmation" && !paused) return call;
  // Nothing ran after the question for credentials, so nothing can succeed.
  if (paused && result.success) return call;
  const needsLook = action.requiresResultConfirmation === true && !paused;
  return compact({
    ...base(call),
    status: needsLook ? "pending-result-confirmation" : "completed",
    invocationMessage: call.invocationMessage,
    toolInput: call.toolInput,
    confirmed: call.status === "pending-confirmation" ? "not-needed" : call.confirmed,
    selectedOption: call.status === "pending-confirmation" ? undefined : call.selectedOption,
    success: result.success,
    pastTenseMessage: result.pastTenseMessage,
    content: result.content ?? (paused ? call.content : undefined),
    structuredContent: result.structuredContent,
    error: result.error,
    _meta: action._meta ?? call._meta,
  });
}

function resultConfirmed(call: ToolCall, action: Of<"chat/toolCallResultConfirmed">): ToolCall {
  if (call.status !== "pending-result-confirmation") return call;
  const _meta = action._meta ?? call._meta;
  if (action.approved) return compact({ ...call, status: "completed", _meta });
  return compact({
    ...base(call),
    status: "cancelled",
    invocationMessage: call.invocationMessage,
    toolInput: call.toolInput,
    reason: "result-denied",
    selectedOption: call.selectedOption,
    _meta,
  });
}

function base({ toolCallId, toolName, displayName, intention, contributor, _meta }: ToolCall): ToolCallBase {
  return { toolCallId, toolName, displayName, intention, contributor, _meta };
}

function compact(call: ToolCall): ToolCall {
  return Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined)) as unknown as ToolCall;
}
