import { expect, test } from "vitest";
import { Status } from "../protocol/types";
import { happenings } from "./happenings";
import { summary } from "./testing";

const at = (status: number) => [summary({ status })];
const kinds = (before: number, now: number) => happenings(at(before), at(now)).map(({ kind }) => kind);

test.each([
  ["a turn ends", Status.InProgress, Status.Idle, ["done"]],
  ["a turn fails", Status.InProgress, Status.Error, ["failed"]],
  ["what waited is decided and the turn ends", Status.InputNeeded, Status.Idle, ["done"]],
  ["a turn goes on", Status.InProgress, Status.InProgress, []],
  ["a turn begins to wait", Status.InProgress, Status.InputNeeded, []],
  ["nothing ran", Status.Idle, Status.Idle, []],
  ["a failure is looked at", Status.Error, Status.Error | Status.IsRead, []],
  ["it is archived meanwhile", Status.InProgress, Status.Idle | Status.IsArchived, []],
])("when %s", (_, before, now, expected) => {
  expect(kinds(before, now)).toEqual(expected);
});

test("sessions that are seen for the first time did nothing", () => {
  expect(happenings([], at(Status.Error))).toEqual([]);
});
