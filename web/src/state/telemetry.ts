// What the host tells about its own work (OTLP, as JSON), line by line.

/** A record of the host's log. */
export interface LogLine {
  at: number;
  level: string;
  text: string;
  details: string;
}

/** Something that took its time: a turn, a tool call, a conversation. */
export interface Span {
  at: number;
  milliseconds: number;
  name: string;
  details: string;
}

interface Attribute {
  key: string;
  value?: Record<string, unknown>;
}

interface ToldRecord {
  timeUnixNano?: string | number;
  severityText?: string;
  body?: Record<string, unknown>;
  attributes?: Attribute[];
}

interface ToldSpan {
  name?: string;
  startTimeUnixNano?: string | number;
  endTimeUnixNano?: string | number;
  attributes?: Attribute[];
}

interface Payload {
  resourceLogs?: { scopeLogs?: { logRecords?: ToldRecord[] }[] }[];
  resourceSpans?: { scopeSpans?: { spans?: ToldSpan[] }[] }[];
}

/** Channels of sessions and chats say nothing to people. */
const UNSAID = new Set(["innkeeper.session", "innkeeper.chat"]);

const millisecondsOf = (nanos: string | number = 0) => Number(nanos) / 1e6;

const textOf = (value: Record<string, unknown> = {}) => String(Object.values(value)[0] ?? "");

const detailsOf = (attributes: Attribute[] = []) =>
  attributes
    .filter(({ key }) => !UNSAID.has(key))
    .map(({ key, value }) => `${key}: ${textOf(value)}`)
    .join(", ");

/** The records of one message. */
export function logLinesIn(payload: unknown): LogLine[] {
  const { resourceLogs = [] } = (payload ?? {}) as Payload;
  const told = resourceLogs.flatMap(({ scopeLogs = [] }) => scopeLogs.flatMap(({ logRecords = [] }) => logRecords));
  return told.map(({ timeUnixNano, severityText = "", body, attributes }) => ({
    at: millisecondsOf(timeUnixNano),
    level: severityText.toLowerCase(),
    text: textOf(body),
    details: detailsOf(attributes),
  }));
}

/** The spans of one message. */
export function spansIn(payload: unknown): Span[] {
  const { resourceSpans = [] } = (payload ?? {}) as Payload;
  const told = resourceSpans.flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans = [] }) => spans));
  return told.map(({ name = "", startTimeUnixNano, endTimeUnixNano, attributes }) => {
    const at = millisecondsOf(startTimeUnixNano);
    return { at, milliseconds: Math.max(0, millisecondsOf(endTimeUnixNano) - at), name, details: detailsOf(attributes) };
  });
}
