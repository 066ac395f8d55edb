import { expect, test } from "vitest";
import { Status } from "../protocol/types";
import { groupOf } from "./sessions";

test("what a session does is read from its bits, whatever marks it has and whatever bits are new", () => {
  const groups = [
    [Status.InputNeeded, "needs-you"],
    [Status.InProgress, "working"],
    [Status.Error, "failed"],
    [Status.Idle, "unread"],
  ] as const;
  for (const [status, group] of groups) {
    for (const marks of [0, 1 << 7, 1 << 20]) {
      expect(groupOf({ status: status | marks })).toBe(group);
      const read = groupOf({ status: status | marks | Status.IsRead });
      expect(read).toBe(group === "unread" ? "idle" : group);
      expect(groupOf({ status: status | marks | Status.IsArchived })).toBe("archived");
    }
  }
});
