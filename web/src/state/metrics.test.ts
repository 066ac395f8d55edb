import { expect, test } from "vitest";
import { metricsIn } from "./metrics";

test("what the host tells of itself is a table by name", () => {
  const metrics = [
    { name: "turns", description: "Turns", sum: { dataPoints: [{ attributes: [{ key: "agent", value: { stringValue: "x" } }], asDouble: 2 }] } },
    { name: "sessions", unit: "1", gauge: { dataPoints: [{ asInt: "3" }] } },
    { name: "took", description: "Time", unit: "s", histogram: { dataPoints: [{ count: "4", sum: 2 }, { count: 0 }] } },
  ];
  expect(metricsIn({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] })).toEqual([
    { name: "sessions", description: "", unit: "1", values: [{ labels: "", value: 3 }] },
    { name: "took", description: "Time (mean)", unit: "s", values: [{ labels: "", value: 0.5 }, { labels: "", value: 0 }] },
    { name: "turns", description: "Turns", unit: "", values: [{ labels: "agent: x", value: 2 }] },
  ]);
});

test.each([undefined, null, {}, { resourceMetrics: [{}] }, { resourceMetrics: [{ scopeMetrics: [{}] }] }])("a message without numbers has none: %j", (payload) => {
  expect(metricsIn(payload)).toEqual([]);
});
