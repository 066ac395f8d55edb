// What the pictures show: hosts with certain sessions, always the same.

import type { AgentInfo, ChatState, ConfigState, ResponsePart, SessionState, SessionSummary, ToolCall, Turn, URI } from "../../src/protocol/types";
import type { Found, UsageItem } from "../../src/state/search";

export interface Scene {
  sessions: SessionSummary[];
  channels: Record<URI, unknown>;
  config: ConfigState;
  completions: object[];
  files: Record<URI, string>;
  found: Found[];
  usage: UsageItem[];
  isRefused?: boolean;
}

/** What time it is in every picture. */
export const NOW = "2026-05-20T14:30:00.000Z";

const before = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const DAY = 24 * 60;

export const OPEN = "ahp-session:/open";
export const CHAT = "ahp-chat:/open";
const CHANGES = "ahp-changes:/open";

const LONG = "A name that somebody gave without thinking of those who have to read it in a narrow list, on a phone, or in the header of a page";
const ARABIC = "أصلح الخطأ في وحدة الجدولة";

const model = (id: string, name: string) => ({ id, provider: "claude", name, maxContextWindow: 200_000, _meta: { description: "For everyday work" } });

const AGENTS: AgentInfo[] = [
  { provider: "claude", displayName: "Claude Code", description: "1.2.3 (`claude-agent-acp`)", models: [model("sonnet", "Sonnet"), model("opus", "Opus")], capabilities: { multipleChats: { fork: true, sideChat: true } } },
  { provider: "gemini", displayName: "Gemini CLI", description: "`gemini --experimental-acp`", models: [] },
  { provider: "copilot", displayName: "GitHub Copilot", description: "It wants you to sign in: run `copilot login`.", models: [] },
];

const choice = (title: string, values: string[], labels: string[], more: object = {}) => ({ type: "string", title, enum: values, enumLabels: labels, default: values[0], sessionMutable: true, ...more });

const CONFIG: ConfigState = {
  schema: {
    type: "object",
    properties: {
      branch: { type: "string", title: "Branch", enumDynamic: true, default: "main" },
      fast: { type: "boolean", title: "Fast mode", description: "Answers sooner and costs more." },
      isolation: choice("Isolation", ["folder", "worktree"], ["In the folder", "New worktree"], { description: "Where the session works." }),
      autoApprove: choice("Approvals", ["default", "autoApprove"], ["When the agent asks", "Approve all"], { description: "Whether tool calls wait for an approval." }),
      mode: choice("Mode", ["default", "acceptEdits", "plan"], ["Ask first", "Accept edits", "Plan"]),
    },
  },
  values: { mode: "default", isolation: "folder" },
};

interface Listed extends Partial<SessionSummary> {
  minutes?: number;
}

function session(title: string, { minutes = 5, ...more }: Listed = {}): SessionSummary {
  const name = more.project?.displayName ?? "inn";
  return {
    resource: `ahp-session:/${title.slice(0, 24).replace(/\W+/g, "-")}-${minutes}`,
    provider: "claude",
    title,
    status: 33,
    createdAt: before(minutes + 10),
    modifiedAt: before(minutes),
    project: { uri: `file:///srv/${name}`, displayName: name },
    workingDirectories: [`file:///srv/${name}`],
    ...more,
  };
}

const SESSIONS: SessionSummary[] = [
  session("Repair the roof", { resource: OPEN, minutes: 2, changes: { additions: 42, deletions: 7 } }),
  session("Deploy the preview", { minutes: 12, status: 24, provider: "gemini", activity: "Waiting for an approval" }),
  session("The build is broken", { minutes: 30, status: 2, activity: "The agent ended unexpectedly" }),
  session("Count the silver", { minutes: 1, status: 8, provider: "copilot", activity: "Running tests" }),
  session("Answer the letters", { minutes: 55, status: 1, project: { uri: "file:///srv/letters", displayName: "letters" } }),
  session("Sweep the yard", { minutes: DAY + 20 }),
  session("Plan the feast", { minutes: 3 * DAY, project: { uri: "file:///srv/kitchen", displayName: "kitchen" }, changes: { additions: 3, deletions: 1 } }),
  session("Old ledgers", { minutes: 40 * DAY, status: 97 }),
];

const tool = (id: string, name: string, displayName: string, more: object): ToolCall =>
  ({ toolCallId: id, toolName: name, displayName, invocationMessage: displayName, confirmed: "not-needed", ...more }) as ToolCall;

const KINDS: Record<string, string> = { read: "read", grep: "search", search: "search", bash: "execute" };

const completed = (id: string, name: string, title: string, text: string, input: object = { path: "src/roof.rs" }, success = true) =>
  tool(id, name, title, { status: "completed", success, pastTenseMessage: title, toolInput: JSON.stringify(input), content: [{ type: "text", text }], _meta: { kind: KINDS[name] } });

const ANSWER = `The roof leaks because \`gutter()\` runs **before** the tiles are laid. I changed the order and added a test.

1. \`src/roof.rs\`: tiles first
2. \`tests/rain.rs\`: a storm of an hour

| step | before | after |
| --- | --- | --- |
| tiles | 2 | 1 |
| gutter | 1 | 2 |

\`\`\`rust
fn roof(house: &mut House) {
    house.lay_tiles();
    house.hang_gutter();
}
\`\`\`
`;

const turn = (id: string, text: string, responseParts: ResponsePart[], more: Partial<Turn> = {}): Turn => ({
  id,
  startedAt: before(20),
  duration: 64_000,
  state: "complete",
  message: { text, origin: { kind: "user" } },
  responseParts,
  usage: { inputTokens: 12_000, outputTokens: 900, model: "sonnet", _meta: { contextUsed: 48_000, contextWindow: 200_000, sessionCost: { amount: 0.42, currency: "USD" } } },
  ...more,
});

const TURNS: Turn[] = [
  turn("t1", "Where does the rain come in?", [
    { kind: "reasoning", id: "r1", content: "First I look at the roof, then at the gutter." },
    { kind: "toolCall", toolCall: completed("c1", "read", "Read src/roof.rs", "fn roof() {}") },
    { kind: "toolCall", toolCall: completed("c2", "search", "Searched for “gutter”", "src/roof.rs:4") },
    { kind: "markdown", id: "m1", content: "It comes in at the gutter." },
  ]),
  turn("t2", "Please repair it.", [
    { kind: "toolCall", toolCall: completed("c3", "bash", "Ran cargo test", "running 2 tests\ntest sun ... \u001b[32mok\u001b[0m\ntest rain ... \u001b[31mFAILED\u001b[0m", { command: "cargo test", description: "Run the tests" }, false) },
    { kind: "markdown", id: "m2", content: ANSWER },
  ]),
];

function chat(more: Partial<ChatState> = {}): ChatState {
  return { resource: CHAT, title: "Repair the roof", status: 33, modifiedAt: before(2), turns: TURNS, ...more };
}

function opened(more: Partial<SessionState> = {}): SessionState {
  return {
    provider: "claude",
    title: "Repair the roof",
    status: 33,
    lifecycle: "ready",
    activeClients: [],
    project: { uri: "file:///srv/inn", displayName: "inn" },
    workingDirectories: ["file:///srv/inn"],
    defaultChat: CHAT,
    chats: [{ resource: CHAT, title: "Repair the roof", status: 33, modifiedAt: before(2) }],
    config: CONFIG,
    changesets: [{ label: "Session changes", uriTemplate: CHANGES, changeKind: "session" }],
    _meta: { git: { branch: "roof", dirty: true, ahead: 1, behind: 0, upstream: "origin/roof" } },
    ...more,
  };
}

const BEFORE = "fn roof(house: &mut House) {\n    house.hang_gutter();\n    house.lay_tiles();\n}\n";
const AFTER = "fn roof(house: &mut House) {\n    house.lay_tiles();\n    house.hang_gutter();\n}\n";

const edit = { before: { uri: "file:///srv/inn/src/roof.rs", content: { uri: "x:/before" } }, after: { uri: "file:///srv/inn/src/roof.rs", content: { uri: "x:/after" } }, diff: { added: 1, removed: 1 } };

interface Differing {
  sessions?: SessionSummary[];
  session?: Partial<SessionState>;
  chat?: Partial<ChatState>;
  agents?: AgentInfo[];
  root?: object;
}

function scene({ sessions = SESSIONS, session: state, chat: said, agents = AGENTS, root }: Differing = {}, more: Partial<Scene> = {}): Scene {
  const rootConfig = { schema: { type: "object", properties: { defaultAgent: { type: "string", title: "Default agent" } } }, values: { diffView: "unified" } };
  return {
    sessions,
    channels: {
      "ahp-root://": { agents, terminals: [], config: rootConfig, _meta: { innkeeper: { extensions: { "innkeeper/searchSessions": 1, "innkeeper/usage": 1 } } }, ...root },
      [OPEN]: opened(state),
      [CHAT]: chat(said),
      [CHANGES]: { status: "ready", files: [{ id: "a", edit }], operations: [] },
      "ahp-automations://": { entries: [] },
    },
    config: CONFIG,
    completions: [
      { insertText: "/review ", attachment: { type: "simple", label: "/review", displayKind: "command", _meta: { description: "Looks at what has changed and says what is wrong with it", argumentHint: "[branch]" } } },
      { insertText: "/compact ", attachment: { type: "simple", label: "/compact", displayKind: "command", _meta: { description: "Keeps the conversation short" } } },
    ],
    files: { "x:/before": BEFORE, "x:/after": AFTER },
    found: [
      { session: OPEN, sessionTitle: "Repair the roof", provider: "claude", archived: false, chat: CHAT, chatTitle: "Repair the roof", turnId: "t2", at: before(20), field: "answer", snippet: { text: "…the gutter runs before the tiles are laid, and", marks: [[5, 11]] } },
      { session: "ahp-session:/x", sessionTitle: "Old ledgers", provider: "gemini", archived: true, chat: "ahp-chat:/x", chatTitle: "Old ledgers", at: before(40 * DAY), field: "title", snippet: { text: "The gutter of 1842", marks: [[4, 10]] } },
    ],
    usage: [
      { day: "2026-05-20", provider: "claude", turns: 12, inputTokens: 81_000, outputTokens: 9_000, cost: { amount: 1.25, currency: "USD" } },
      { day: "2026-05-19", provider: "claude", turns: 3, inputTokens: 12_000, outputTokens: 1_000 },
    ],
    ...more,
  };
}

const options = [
  { id: "once", label: "Allow once", kind: "approve", group: 0 },
  { id: "always", label: "Allow in this session", kind: "approve", group: 1 },
  { id: "no", label: "Deny", kind: "deny", group: 0 },
];

const ASKS = tool("c9", "bash", "Run a command", { status: "pending-confirmation", confirmationTitle: "Delete the build directory?", riskAssessment: { status: "complete", kind: "judge", reason: "It deletes files: rm", safety: 0.2 }, toolInput: "rm -rf build && cargo build --release", _meta: { toolKind: "terminal", language: "shellscript" }, options });
const asking = { id: "t3", startedAt: before(1), message: { text: "Clean up and build again.", origin: { kind: "user" as const } }, responseParts: [{ kind: "markdown" as const, id: "m3", content: "I clean up first." }, { kind: "toolCall" as const, toolCall: ASKS }] };
const PLAN = "## Repair the roof\n\n1. Lay the **tiles** first, in `src/roof.rs`\n2. Hang the gutter\n3. Test it in the rain\n\n> [!NOTE]\n> The stable is left as it is.";
const PLANS = tool("c10", "ExitPlanMode", "Ready to build?", { status: "pending-confirmation", confirmationTitle: "Ready to build?", toolInput: JSON.stringify({ plan: PLAN }), options: [{ id: "once", label: "Yes, and ask before each edit", kind: "approve", group: 0 }, { id: "no", label: "No, keep planning", kind: "deny", group: 0 }] });
const planning = { ...asking, message: { text: "Plan the repair.", origin: { kind: "user" as const } }, responseParts: [{ kind: "toolCall" as const, toolCall: PLANS }] };
const request = { id: "q1", message: "Which roof?", questions: [{ id: "roof", kind: "single-select" as const, message: "There are two roofs.", required: true, options: [{ id: "a", label: "The stable", description: "Leaks since March" }, { id: "b", label: "The barn" }] }] };
const questioning = { ...asking, responseParts: [{ kind: "inputRequest" as const, request }] };

const READ = ["src/roof.rs", "src/gutter.rs", "src/tiles.rs", "tests/rain.rs"];
const TODOS = { todos: [{ content: "Read how the roof is made", status: "completed" }, { content: "Lay the tiles first", status: "in_progress" }, { content: "Test it in the rain", status: "pending" }] };

/** A turn in the middle of its work: groups that are done, an edit, and a command that runs. */
const MANY_TOOLS: ResponsePart[] = [
  { kind: "markdown", id: "m1", content: "I look at how the roof is made." },
  ...READ.map((path, at) => ({ kind: "toolCall" as const, toolCall: completed(`r${at}`, "read", `Read ${path}`, "fn roof() {}", { path }) })),
  { kind: "toolCall", toolCall: completed("g1", "grep", "Searched for “gutter”", "src/roof.rs:4", { pattern: "gutter" }) },
  { kind: "toolCall", toolCall: completed("b1", "bash", "cargo check", "Finished in 2.1s", { command: "cargo check" }) },
  { kind: "toolCall", toolCall: completed("td", "todowrite", "To-dos", "", TODOS) },
  { kind: "markdown", id: "m2", content: "The gutter is hung before the tiles are laid. I change the order." },
  { kind: "toolCall", toolCall: tool("e1", "edit", "Edited src/roof.rs", { status: "completed", success: true, pastTenseMessage: "Edited src/roof.rs", toolInput: JSON.stringify({ path: "src/roof.rs" }), content: [{ type: "fileEdit", ...edit }] }) },
  { kind: "toolCall", toolCall: tool("b2", "bash", "cargo clippy", { status: "running", toolInput: JSON.stringify({ command: "cargo clippy" }), _meta: { toolKind: "terminal" }, content: [{ type: "text", text: "    Checking inn v0.1.0" }] }) },
];

/** One prompt, tried by three: one is done, one works, one waits. */
function tried(): Scene {
  const of = (number: number) => ({ innkeeper: { attempt: { id: "roof", number, count: 3, directory: "file:///srv/inn" } } });
  const numbers = [1, 2, 3];
  const provider = (number: number) => (number === 2 ? "gemini" : "claude");
  const summaries = numbers.map((number) => session("Repair the roof", { resource: `ahp-session:/try-${number}`, minutes: number, provider: provider(number), status: [33, 8, 24][number - 1] ?? 33, _meta: of(number) }));
  const base = scene({ sessions: [...summaries, ...SESSIONS.slice(4)] });
  for (const number of numbers) {
    const chatUri = `ahp-chat:/try-${number}`;
    const changes = `ahp-changes:/try-${number}`;
    const done = turn("t1", "Repair the roof.", [{ kind: "markdown", id: "m", content: "Tiles **first**, then the gutter. The test in the rain passes." }]);
    const running = { ...asking, responseParts: asking.responseParts.slice(0, 1) };
    base.channels[`ahp-session:/try-${number}`] = opened({ provider: provider(number), workingDirectories: [`file:///srv/trees/${number}`], defaultChat: chatUri, changesets: [{ label: "Session changes", uriTemplate: changes, changeKind: "session" }], _meta: of(number) });
    base.channels[chatUri] = chat({ resource: chatUri, ...(number === 1 ? { turns: [done] } : { turns: [], activeTurn: number === 2 ? running : asking }) });
    const uri = `file:///srv/trees/${number}/src/roof.rs`;
    const file = { id: "a", edit: { ...edit, before: { ...edit.before, uri }, after: { ...edit.after, uri } } };
    const keep = { id: "keep", label: "Keep", scopes: ["changeset"], status: "idle" };
    base.channels[changes] = { status: "ready", files: number === 3 ? [] : [file], operations: [keep] };
  }
  return base;
}

export const SCENES = {
  usual: scene(),
  empty: scene({ sessions: [] }),
  noAgents: scene({ sessions: [], agents: [] }),
  many: scene({ sessions: [...SESSIONS, ...Array.from({ length: 492 }, (_, at) => session(`Errand ${at + 1}`, { minutes: 60 + at * 37, provider: ["claude", "gemini", "copilot"][at % 3] ?? "claude" }))] }),
  longNames: scene({ sessions: [session(LONG, { resource: OPEN, minutes: 2 }), ...SESSIONS.slice(1)], session: { title: LONG } }),
  rightToLeft: scene({ sessions: [session(ARABIC, { resource: OPEN, minutes: 2 }), ...SESSIONS.slice(1)], session: { title: ARABIC }, chat: { turns: [turn("t1", ARABIC, [{ kind: "markdown", id: "m1", content: `${ARABIC}.` }])] } }),
  fresh: scene({ chat: { turns: [] } }),
  manyModels: scene({ agents: [{ ...(AGENTS[0] as AgentInfo), models: Array.from({ length: 55 }, (_, at) => model(`m${at}`, `Model ${at + 1}`)) }] }),
  manyTools: scene({ chat: { status: 8, activity: "Running cargo clippy", activeTurn: { ...asking, responseParts: MANY_TOOLS } } }),
  working: scene({ chat: { status: 8, activeTurn: { ...asking, responseParts: asking.responseParts.slice(0, 1) }, queuedMessages: [{ id: "q", message: { text: "And then the stable.", origin: { kind: "user" } } }] } }),
  approval: scene({ session: { inputNeeded: [{ kind: "toolConfirmation", id: "n1", chat: CHAT, turnId: "t3", toolCall: ASKS as never }] }, sessions: [session("Repair the roof", { resource: OPEN, minutes: 2, status: 24 }), ...SESSIONS.slice(4)], chat: { status: 24, activeTurn: asking } }),
  question: scene({ session: { inputNeeded: [{ kind: "chatInput", id: "n2", chat: CHAT, request }] }, sessions: [session("Repair the roof", { resource: OPEN, minutes: 2, status: 24 }), ...SESSIONS.slice(4)], chat: { status: 24, activeTurn: questioning } }),
  plan: scene({ session: { inputNeeded: [{ kind: "toolConfirmation", id: "n3", chat: CHAT, turnId: "t3", toolCall: PLANS as never }] }, sessions: [session("Repair the roof", { resource: OPEN, minutes: 2, status: 24 }), ...SESSIONS.slice(4)], chat: { status: 24, activeTurn: planning } }),
  attempts: tried(),
  failed: scene({ chat: { status: 2, turns: [turn("t1", "Please repair it.", [{ kind: "error", error: { errorType: "agentExited", message: "The agent ended unexpectedly." }, resumable: true }], { state: "error" })] } }),
  notCreated: scene({ session: { lifecycle: "failed", creationError: { errorType: "agentExited", message: "`gemini` ended before it was ready: it ended with status 1" } }, chat: { turns: [] } }),
  readOnly: scene({ chat: { interactivity: "read-only" } }),
  refused: scene({}, { isRefused: true }),
} satisfies Record<string, Scene>;

export type SceneName = keyof typeof SCENES;
