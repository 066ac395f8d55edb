// How a request for approval is read: which option is the careful one, what a
// call's input says in words, and what of it can be edited.

import type { ConfirmationOption, FileEdit, JsonObject, SessionState, ToolInput, ToolResultContent, URI } from "../protocol/types";
import type { ChannelState } from "./reducers";

const DEFAULT_OPTIONS: ConfirmationOption[] = [
  { id: "", label: "Approve", kind: "approve" },
  { id: "", label: "Deny", kind: "deny" },
];

export interface Choices {
  /** In the host's order, which puts what counts once before what counts for longer. */
  options: ConfirmationOption[];
  /** The one that a key or the large button may mean; none, if all of them count for longer. */
  approve: ConfirmationOption | undefined;
  deny: ConfirmationOption | undefined;
}

/** Words for more than this one time, in the labels and ids that agents use. */
const LASTING = /always|session|forever|permanent|remember|(don|do not).{0,3}\s*ask|\ball\b|immer|sitzung|toujours|siempre|sesi[oó]n/i;

export function choicesOf(offered: readonly ConfirmationOption[] | undefined): Choices {
  const options = (offered?.length ? [...offered] : [...DEFAULT_OPTIONS]).map((option) => ({ ...option, label: labelOf(option) }));
  const lowest = (kind: string) => Math.min(...options.filter((option) => option.kind === kind).map(({ group }) => group ?? 0));
  const careful = (kind: string) => options.find((option) => option.kind === kind && !lasts(option) && (option.group ?? 0) === lowest(kind));
  return { options, approve: careful("approve"), deny: careful("deny") ?? options.find(({ kind }) => kind === "deny") };
}

function lasts({ id, label }: ConfirmationOption): boolean {
  return LASTING.test(id) || LASTING.test(label);
}

/** The session that a chat belongs to, if it is open. */
export function sessionOf(channels: ReadonlyMap<URI, ChannelState>, chat: URI): SessionState | undefined {
  for (const channel of channels.values()) {
    if (channel.kind === "session" && channel.state.chats.some(({ resource }) => resource === chat)) return channel.state;
  }
  return undefined;
}

/** Where the session of a chat works. */
export function directoryOf(channels: ReadonlyMap<URI, ChannelState>, chat: URI): URI | undefined {
  const session = sessionOf(channels, chat);
  return session?.chats.find(({ resource }) => resource === chat)?.workingDirectories?.[0] ?? session?.workingDirectories?.[0];
}

/** Some agents give their identifiers as labels. */
function labelOf({ label, id }: ConfirmationOption): string {
  const text = label || id;
  if (!/^[a-z]+(_[a-z]+)+$/.test(text)) return text;
  const words = text.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A call's input, as a person reads it. */
export interface ReadableInput {
  /** What would be run, with its real lines. */
  command?: string;
  description?: string;
  /** A plan that is to be agreed to, as Markdown. */
  plan?: string;
  /** Where it would be done, if the input says so. */
  where?: string;
  /** Everything else that the input says, by name. */
  fields: { name: string; text: string }[];
  /** An input that is not an object: as it is. */
  text?: string;
}

/** Names under which agents say where a command runs. */
const PLACES = ["cwd", "workdir", "directory", "dir_path", "working_directory", "workingDirectory"];

export function readInput(input: string, meta: JsonObject | undefined): ReadableInput {
  const object = objectIn(input);
  if (!object) return meta?.["toolKind"] === "terminal" ? { command: input, fields: [] } : { text: input, fields: [] };
  const { command, description, plan } = object;
  const place = typeof command === "string" ? PLACES.find((name) => typeof object[name] === "string" && object[name]) : undefined;
  const told = [typeof command === "string" && "command", typeof description === "string" && "description", typeof plan === "string" && "plan", place];
  const others = Object.fromEntries(Object.entries(object).filter(([name]) => !told.includes(name)));
  return {
    ...(typeof command === "string" ? { command } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof plan === "string" ? { plan } : {}),
    ...(place ? { where: String(object[place]) } : {}),
    fields: Object.entries(others).map(([name, value]) => ({ name, text: readable(value) })),
  };
}

/** Whether a line is a command, or the beginning of one: then it need not stand next to it. */
export function saysCommand(line: string, command: string | undefined): boolean {
  if (command === undefined) return false;
  const [bare, whole] = [line, command].map((text) => text.replace(/\s+/g, " ").trim().replace(/^`(.*)`$/, "$1"));
  const begun = bare?.replace(/\s*(?:…|\.\.\.)$/, "");
  return begun !== undefined && begun !== "" && (begun === whole || (begun !== bare && !!whole?.startsWith(begun)));
}

/** Values in lines, with the line breaks that they have. */
function readable(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((item) => `- ${indented(readable(item))}`).join("\n");
  if (typeof value === "object" && value !== null) {
    return Object.entries(value)
      .map(([name, item]) => {
        const text = readable(item);
        return text.includes("\n") ? `${name}:\n  ${indented(text)}` : `${name}: ${text}`;
      })
      .join("\n");
  }
  return String(value);
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}

function objectIn(input: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** What is put into the field where an input is edited. */
export interface Editable {
  text: string;
  /** The input that a text stands for; nothing, if it is not one. */
  toInput: (text: string) => string | undefined;
}

export function editableInput(input: string): Editable {
  const object = objectIn(input);
  if (!object) return { text: input, toInput: (text) => text };
  const { command } = object;
  if (typeof command === "string") return { text: command, toInput: (text) => JSON.stringify({ ...object, command: text }) };
  return { text: JSON.stringify(object, null, 2), toInput: (text) => (objectIn(text) ? text : undefined) };
}

/** Whether an input says nothing. */
export function isBlank(input: ToolInput | undefined): boolean {
  return input === undefined || input === "" || input === "{}";
}

/** Content of this type is a piece of a file, and its lines are not counted from the beginning. */
const PIECE = "text/x-fragment";

export function isPiece({ before, after }: FileEdit): boolean {
  return before?.content.contentType === PIECE || after?.content.contentType === PIECE;
}

/** Of several edits of one file that say the same, the one that shows most of it. */
export function withoutTwins(content: readonly ToolResultContent[]): ToolResultContent[] {
  return content.filter((item, index) => {
    if (item.type !== "fileEdit") return true;
    // The whole file shows what a piece of it shows.
    if (isPiece(item) && content.some((other) => other.type === "fileEdit" && !isPiece(other) && other.after?.uri === item.after?.uri)) return false;
    const twins = content.flatMap((other, at) => (other.type === "fileEdit" && isTwin(item, other) ? [{ at, size: sizeOf(other) }] : []));
    const best = twins.reduce((known, next) => (next.size > known.size ? next : known));
    return best.at === index;
  });
}

function isTwin(a: FileEdit, b: FileEdit): boolean {
  if (a === b) return true;
  if (a.before?.uri !== b.before?.uri || a.after?.uri !== b.after?.uri) return false;
  const isSameContent = a.before?.content.uri === b.before?.content.uri && a.after?.content.uri === b.after?.content.uri;
  const isSameChange = a.diff !== undefined && a.diff.added === b.diff?.added && a.diff.removed === b.diff?.removed;
  return isSameContent || isSameChange;
}

function sizeOf({ before, after }: FileEdit): number {
  return (before?.content.sizeHint ?? 0) + (after?.content.sizeHint ?? 0);
}
