import { expect, test } from "vitest";
import { inWords, nextRuns, parseCron } from "./schedule";

test.each([
  ["* * * * *", "Every minute"],
  ["*/15 * * * *", "Every 15 minutes"],
  ["30 * * * *", "Every hour at :30"],
  ["0 9 * * *", "At 09:00 every day"],
  ["0 9,17 * * MON-FRI", "At 09:00 and 17:00 from Monday to Friday"],
  ["30 7 1 * 0", "At 07:30 on day 1 of the month or on Sunday"],
  ["0 0 1 jan,JUL *", "At 00:00 on day 1 of the month in January and July"],
])("%s says: %s", (expression, words) => {
  expect(inWords(expression)).toBe(words);
});

test.each(["", "* * * *", "@daily", "60 * * * *", "* * * * 8", "5/10 * * * *", "1-10/2,20 * * * *", "*/0 * * * *", "10-5 * * * *"])("%j says nothing", (expression) => {
  expect(parseCron(expression)).toBeUndefined();
});

const iso = (times: number[]) => times.map((at) => new Date(at).toISOString().slice(0, 16));

test.each([
  ["0 9 * * *", "Europe/Berlin", "2026-01-01T08:00Z", ["2026-01-02T08:00", "2026-01-03T08:00"]],
  ["0 9 * * MON", "UTC", "2026-01-01T00:00Z", ["2026-01-05T09:00", "2026-01-12T09:00"]],
  ["0 0 29 2 *", "UTC", "2026-01-01T00:00Z", ["2028-02-29T00:00"]],
  ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", ["2026-10-25T00:30", "2026-10-26T01:30"]],
  ["0 0 31 2 *", "UTC", "2026-01-01T00:00Z", []],
  ["* * * * *", "Nowhere/Land", "2026-01-01T00:00Z", []],
] as const)("%s in %s comes next when it should", (expression, zone, from, expected) => {
  expect(iso(nextRuns(expression, zone, Date.parse(from), expected.length || 1))).toEqual(expected);
});
