// Random actions over a few ids, so that they meet each other.

import fc from "fast-check";
import type { StateAction } from "../../protocol/types";
import type { ChannelState } from ".";

const id = fc.constantFrom("a", "b", "c");
/** Mostly the same one, so that what follows is about what is there. */
const usual = fc.constantFrom("a", "a", "a", "a", "b");
const text = fc.constantFrom("", "x", "some words");
const flag = fc.boolean();
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const meta = maybe(fc.constantFrom({}, { k: 1 }));
const message = fc.record({ text, origin: fc.constant({ kind: "user" }) });
const at = fc.constantFrom("2026-01-01T00:00:00.000Z", "2026-01-02T03:04:05Z", "not a time");
const wording = fc.oneof(text, fc.constant({ markdown: "*m*" }));
const error = fc.constant({ errorType: "e", message: "m" });
const option = fc.record({ id, label: text, kind: fc.constantFrom("approve", "deny") });
const content = fc.array(fc.record({ type: fc.constant("text"), text }), { maxLength: 2 });
const contributor = maybe(
  fc.oneof(
    fc.record({ kind: fc.constant("client"), clientId: id }),
    fc.record({ kind: fc.constant("mcp"), customizationId: id }),
  ),
);
const edits = maybe(fc.constant({ items: [] }));

/** One kind of action; fields that came out undefined are left out. */
function of(type: StateAction["type"], fields: Record<string, fc.Arbitrary<unknown>> = {}): fc.Arbitrary<StateAction> {
  return fc.record(fields).map((known) => {
    const present = Object.entries(known).filter(([, value]) => value !== undefined);
    return { type, ...Object.fromEntries(present.map(([key, value]) => [key, prune(value)])) } as unknown as StateAction;
  });
}

function prune(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

const call = { turnId: usual, toolCallId: usual, _meta: meta };
const answer = fc.oneof(
  fc.record({ state: fc.constantFrom("draft", "submitted"), value: fc.record({ kind: fc.constant("text"), value: text }) }),
  fc.record({ state: fc.constant("skipped") }),
);
const result = fc.record({ success: flag, pastTenseMessage: wording, content: maybe(content), structuredContent: meta });
const auth = fc.constant({ reason: "required", resource: { resource: "r" } });
const markdown = fc.record({ kind: fc.constantFrom("markdown", "reasoning"), id, content: text });
const turn = fc.record({ id, message, responseParts: fc.array(markdown, { maxLength: 2 }), state: fc.constantFrom("complete", "cancelled") });
const changesets = maybe(fc.array(fc.record({ label: text, uriTemplate: id, changeKind: text }), { maxLength: 1 }));

const chat = [
  of("chat/turnStarted", { turnId: usual, startedAt: at, message, queuedMessageId: maybe(id) }),
  of("chat/responsePart", { turnId: usual, part: markdown }),
  of("chat/delta", { turnId: usual, partId: usual, content: text }),
  of("chat/reasoning", { turnId: usual, partId: usual, content: text }),
  of("chat/turnComplete", { turnId: usual, duration: fc.integer({ min: -5, max: 5000 }) }),
  of("chat/turnCancelled", { turnId: usual, duration: fc.nat(100) }),
  of("chat/error", { turnId: usual, duration: fc.nat(100), part: fc.record({ kind: fc.constant("error"), error, resumable: maybe(flag) }) }),
  of("chat/turnResume", { turnId: usual }),
  of("chat/activityChanged", { activity: maybe(text) }),
  of("chat/backgroundWorkSet", { work: fc.record({ kind: fc.constant("shell"), id, label: text, startedAt: fc.constant("2026-01-01T00:00:00Z"), command: text }) }),
  of("chat/backgroundWorkRemoved", { id }),
  of("chat/movableChanged", { movable: flag }),
  of("chat/changesetsChanged", { changesets }),
  of("chat/workingDirectorySet", { directory: id }),
  of("chat/workingDirectoryRemoved", { directory: id }),
  of("chat/usage", { turnId: usual, usage: fc.constant({ inputTokens: 3 }) }),
  of("chat/pendingMessageSet", { kind: fc.constantFrom("steering", "queued"), id, message }),
  of("chat/pendingMessageRemoved", { kind: fc.constantFrom("steering", "queued"), id }),
  of("chat/queuedMessagesReordered", { order: fc.array(id, { maxLength: 4 }) }),
  of("chat/draftChanged", { draft: maybe(message) }),
  of("chat/isReadChanged", { isRead: flag }),
  of("chat/isArchivedChanged", { isArchived: flag }),
  of("chat/inputRequested", { request: fc.record({ id, message: text, answers: maybe(fc.dictionary(id, answer, { maxKeys: 2 })) }) }),
  of("chat/inputAnswerChanged", { requestId: usual, questionId: id, answer: maybe(answer) }),
  of("chat/inputCompleted", { requestId: usual, response: fc.constantFrom("accept", "decline", "cancel"), answers: maybe(fc.dictionary(id, answer, { maxKeys: 2 })) }),
  of("chat/truncated", { turnId: maybe(id) }),
  of("chat/turnsLoaded", { turns: fc.array(turn, { maxLength: 2 }), turnsNextCursor: maybe(text) }),
];

const tools = [
  of("chat/toolCallStart", { ...call, toolName: text, displayName: text, intention: maybe(text), contributor }),
  of("chat/toolCallDelta", { ...call, content: maybe(text), invocationMessage: maybe(wording) }),
  of("chat/toolCallReady", {
    ...call,
    invocationMessage: wording,
    toolInput: maybe(fc.oneof(text, fc.constant({ uri: "u" }))),
    confirmationTitle: maybe(wording),
    confirmed: maybe(fc.constantFrom("not-needed", "user-action", "setting")),
    options: maybe(fc.array(option, { maxLength: 2 })),
    editable: maybe(flag),
    intention: maybe(text),
    contributor,
    edits,
  }),
  of("chat/toolCallConfirmed", {
    ...call,
    approved: flag,
    confirmed: maybe(fc.constantFrom("user-action", "setting")),
    reason: maybe(fc.constantFrom("denied", "skipped")),
    editedToolInput: maybe(text),
    reasonMessage: maybe(wording),
    selectedOptionId: maybe(id),
  }),
  of("chat/toolCallComplete", { ...call, result, requiresResultConfirmation: maybe(flag) }),
  of("chat/toolCallResultConfirmed", { ...call, approved: flag }),
  of("chat/toolCallContentChanged", { ...call, content }),
  of("chat/toolCallAuthRequired", { ...call, auth }),
  of("chat/toolCallAuthResolved", call),
];

const chatSummary = fc.record({ resource: id, title: text, status: fc.constantFrom(1, 8, 24, 33), modifiedAt: fc.constant("2026-01-01T00:00:00Z") });
const enablement = fc.array(fc.record({ kind: fc.constantFrom("global", "session"), enabled: flag }), { maxLength: 2 });
const server = fc.record({ type: fc.constant("mcpServer"), id, uri: id, name: text, state: fc.constantFrom({ kind: "stopped" }, { kind: "starting", blocking: true }) });
const child = fc.oneof(fc.record({ type: fc.constantFrom("agent", "skill"), id, uri: id, name: text }), server);
const customization = fc.oneof(
  fc.record({ type: fc.constant("plugin"), id, uri: id, name: text, children: fc.array(child, { maxLength: 2 }) }),
  server,
);
const request = fc.oneof(
  fc.record({ kind: fc.constant("chatInput"), id, chat: id, request: fc.record({ id }) }),
  fc.record({
    kind: fc.constant("toolClientExecution"), id, chat: id, turnId: id, clientId: id,
    toolCall: fc.constant({ status: "running", toolCallId: "a", toolName: "t", displayName: "d", invocationMessage: "i", confirmed: "not-needed" }),
  }),
);

const session = [
  of("session/ready"),
  of("session/creationFailed", { error }),
  of("session/chatAdded", { summary: chatSummary }),
  of("session/chatRemoved", { chat: id }),
  of("session/chatUpdated", { chat: id, changes: fc.record({ title: maybe(text), status: maybe(fc.constantFrom(1, 24)), activity: maybe(text), resource: maybe(id) }) }),
  of("session/chatsReordered", { chats: fc.shuffledSubarray(["a", "b", "c"]) }),
  of("session/defaultChatChanged", { defaultChat: maybe(id) }),
  of("session/titleChanged", { title: text }),
  of("session/isReadChanged", { isRead: flag }),
  of("session/isArchivedChanged", { isArchived: flag }),
  of("session/activityChanged", { activity: maybe(text) }),
  of("session/changesetsChanged", { changesets }),
  of("session/configChanged", { config: fc.dictionary(id, text, { maxKeys: 2 }), replace: maybe(flag) }),
  of("session/metaChanged", { _meta: meta }),
  of("session/serverToolsChanged", { tools: fc.array(fc.record({ name: text }), { maxLength: 1 }) }),
  of("session/activeClientSet", { activeClient: fc.record({ clientId: id, displayName: maybe(text), tools: fc.constant([]) }) }),
  of("session/activeClientRemoved", { clientId: id }),
  of("session/workingDirectorySet", { directory: id }),
  of("session/workingDirectoryRemoved", { directory: id }),
  of("session/workingDirectoryReplaced", { directory: id, replacement: id }),
  of("session/inputNeededSet", { request }),
  of("session/inputNeededRemoved", { id }),
  of("session/customizationsChanged", { customizations: fc.array(customization, { maxLength: 2 }) }),
  of("session/customizationToggled", { id, enablement }),
  of("session/customizationUpdated", { customization }),
  of("session/customizationRemoved", { id }),
  of("session/mcpServerStateChanged", { id, state: fc.constant({ kind: "ready" }), channel: maybe(text) }),
  of("session/mcpServerStartRequested", { id }),
  of("session/mcpServerStopRequested", { id }),
  of("session/mcpServerBackgroundRequested", { id }),
];

const root = [
  of("root/agentsChanged", { agents: fc.array(fc.record({ provider: id, displayName: text, description: text, models: fc.constant([]) }), { maxLength: 2 }) }),
  of("root/activeSessionsChanged", { activeSessions: fc.nat(9) }),
  of("root/terminalsChanged", { terminals: fc.constant([]) }),
  of("root/configChanged", { config: fc.dictionary(id, text, { maxKeys: 2 }), replace: maybe(flag) }),
];

const terminal = [
  of("terminal/data", { data: text }),
  of("terminal/input", { data: text }),
  of("terminal/resized", { cols: fc.nat(99), rows: fc.nat(99) }),
  of("terminal/claimed", { claim: fc.record({ kind: fc.constant("client"), clientId: id }) }),
  of("terminal/titleChanged", { title: text }),
  of("terminal/cwdChanged", { cwd: text }),
  of("terminal/exited", { exitCode: maybe(fc.nat(3)) }),
  of("terminal/cleared"),
  of("terminal/commandDetectionAvailable"),
  of("terminal/commandExecuted", { commandId: id, commandLine: text, timestamp: fc.nat(9) }),
  of("terminal/commandFinished", { commandId: id, exitCode: maybe(fc.nat(3)), durationMs: maybe(fc.nat(9)) }),
];

const file = fc.record({ id, edit: fc.constant({}), reviewed: maybe(flag) });
const operation = fc.record({ id, label: text, scopes: fc.constant(["changeset"]), status: fc.constantFrom("idle", "running") });
const changeset = [
  of("changeset/statusChanged", { status: fc.constantFrom("computing", "ready", "error"), error: maybe(error) }),
  of("changeset/fileSet", { file }),
  of("changeset/fileRemoved", { fileId: id }),
  of("changeset/filesReviewChanged", { files: fc.array(id, { maxLength: 3 }), reviewed: flag }),
  of("changeset/contentChanged", { files: fc.array(file, { maxLength: 2 }), operations: maybe(fc.array(operation, { maxLength: 2 })) }),
  of("changeset/operationsChanged", { operations: maybe(fc.array(operation, { maxLength: 2 })) }),
  of("changeset/operationStatusChanged", { operationId: id, status: fc.constantFrom("idle", "error"), error: maybe(error) }),
  of("changeset/cleared"),
];

const annotationId = id;
const range = fc.constant({ start: { line: 1, character: 0 }, end: { line: 2, character: 0 } });
const origin = fc.record({ session: id });
const entry = fc.record({ id, text });
const annotation = fc.record({ id, origin, resource: id, resolved: flag, entries: fc.array(entry, { minLength: 1, maxLength: 2 }) });
const annotations = [
  of("annotations/set", { annotation }),
  of("annotations/set", { annotation }),
  of("annotations/updated", { annotationId, origin: maybe(origin), resource: maybe(id), range: maybe(range), resolved: maybe(flag) }),
  of("annotations/removed", { annotationId }),
  of("annotations/entrySet", { annotationId, entry }),
  of("annotations/entryRemoved", { annotationId, entryId: id }),
];

const definition = fc.record({
  title: text,
  message: fc.constant({ text: "", origin: { kind: "automation" } }),
  session: fc.constant({}),
  enabled: flag,
  triggers: fc.constant([]),
});
const automation = fc.record({
  resource: id,
  definition,
  runs: fc.constant([]),
  operations: fc.constant(["run"]),
  createdAt: fc.constant("2026-01-01T00:00:00Z"),
  modifiedAt: fc.constant("2026-01-01T00:00:00Z"),
});
const automations = [
  of("automation/set", { automation }),
  of("automation/set", { automation }),
  of("automation/removed", { resource: id }),
  of("automation/createRequested", { resource: id, definition }),
  of("automation/updateRequested", { resource: id, changes: fc.record({ title: maybe(text) }) }),
];

const times = { createdAt: fc.constant("2026-01-01T00:00:00Z"), startedAt: fc.constant("2026-01-01T00:00:01Z") };
const lifecycle = fc.record({ status: fc.constant("running"), ...times });
const automationRun = [
  of("automationRun/lifecycleChanged", { lifecycle }),
  of("automationRun/sessionSet", { session: id }),
  of("automationRun/sessionSet", { session: id }),
  of("automationRun/sessionRemoved", { session: id }),
  of("automationRun/primarySessionChanged", { primarySession: maybe(id) }),
  of("automationRun/cancelRequested"),
];

const canvas = [of("canvas/stateChanged", { canvas: fc.record({ instanceId: id, extensionId: id, canvasId: id, title: maybe(text), url: maybe(text) }) })];

/** A run of actions; in a chat, mostly within a turn that has begun. */
export function runsFor(channel: ChannelState["kind"]): fc.Arbitrary<StateAction[]> {
  const any = (actions: fc.Arbitrary<StateAction>[]) => fc.array(fc.oneof(...actions), { minLength: 5, maxLength: 50, size: "max" });
  if (channel !== "chat") return any({ root, session, terminal, changeset, canvas, annotations, automations, automationRun }[channel]);
  const begin = { type: "chat/turnStarted", turnId: "a", startedAt: "2026-01-01T00:00:00Z", message: { text: "", origin: { kind: "user" } } };
  const start = { type: "chat/toolCallStart", turnId: "a", toolCallId: "a", toolName: "t", displayName: "d" };
  const begun = [begin, start] as unknown as StateAction[];
  const within = (actions: fc.Arbitrary<StateAction>[]) => any(actions).map((run) => [...begun, ...run]);
  // What moves a call on comes often, what begins another one rarely.
  const [starts, , ready, confirmed, completes, ...others] = tools;
  const moves = [ready, ready, confirmed, completes, ...others].flatMap((known) => known ?? []);
  return fc.oneof(any([...chat, ...tools]), within(moves), within([...chat, ...moves, ...moves, starts ?? moves[0]].flatMap((known) => known ?? [])));
}

export function stateFor(channel: ChannelState["kind"]): ChannelState["state"] {
  const config = { schema: { type: "object", properties: {} }, values: {} };
  switch (channel) {
    case "root":
      return { agents: [], config };
    case "session":
      return { provider: "p", title: "", status: 1, lifecycle: "creating", activeClients: [], chats: [], config };
    case "chat":
      return { resource: "r", title: "", status: 1, modifiedAt: "2026-01-01T00:00:00.000Z", turns: [] };
    case "terminal":
      return { title: "", content: [], lifecycle: { status: "running" }, claim: { kind: "client", clientId: "a" } };
    case "changeset":
      return { status: "computing", files: [] };
    case "canvas":
      return { instanceId: "i", extensionId: "e", canvasId: "c" };
    case "annotations":
      return { annotations: [] };
    case "automations":
      return { entries: [] };
    case "automationRun":
      return { resource: "r", automation: "a", origin: { kind: "manual" }, lifecycle: { status: "pending", createdAt: "2026-01-01T00:00:00Z" }, sessions: [] };
  }
}
