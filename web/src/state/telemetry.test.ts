import { expect, test } from "vitest";
import { logLinesIn, spansIn } from "./telemetry";

const attributes = [
  { key: "innkeeper.session", value: { stringValue: "ahp-session:/1" } },
  { key: "gen_ai.agent.name", value: { stringValue: "script" } },
];

test("a record is a line with its level and its details", () => {
  const logRecords = [{ timeUnixNano: "1500000000", severityText: "WARN", body: { stringValue: "odd" }, attributes }];
  expect(logLinesIn({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })).toEqual([{ at: 1500, level: "warn", text: "odd", details: "gen_ai.agent.name: script" }]);
});

test("a span says what took how long", () => {
  const spans = [{ name: "turn", startTimeUnixNano: "1000000000", endTimeUnixNano: "1250000000", attributes }];
  expect(spansIn({ resourceSpans: [{ scopeSpans: [{ spans }] }] })).toEqual([{ at: 1000, milliseconds: 250, name: "turn", details: "gen_ai.agent.name: script" }]);
});

test.each([undefined, null, {}, { resourceLogs: [{}] }, { resourceSpans: [{ scopeSpans: [{}] }] }])("a message without any has none: %j", (payload) => {
  expect([logLinesIn(payload), spansIn(payload)]).toEqual([[], []]);
});
