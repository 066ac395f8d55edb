import { expect, test } from "vitest";
import { isRejectedAs } from "./rejection";
import type { ActionEnvelope } from "./types";

const rejected = (_meta?: unknown): ActionEnvelope => ({
  channel: "ahp-chat:/c",
  action: { type: "chat/turnResume", turnId: "t" },
  serverSeq: 1,
  rejectionReason: "no",
  ...(_meta === undefined ? {} : { _meta: _meta as ActionEnvelope["_meta"] }),
});

test("a rejection says for programs why", () => {
  expect(isRejectedAs(rejected({ innkeeper: { code: "turnExists" } }), "turnExists")).toBe(true);
});

test.each([[undefined], [null], [{}], [{ innkeeper: null }], [{ innkeeper: "turnExists" }], [{ innkeeper: {} }], [{ innkeeper: { code: 7 } }], [{ innkeeper: { code: "other" } }], [{ code: "turnExists" }]])(
  "no code, another one, or something else in its place says nothing (%j)",
  (meta) => {
    expect(isRejectedAs(rejected(meta), "turnExists")).toBe(false);
  },
);

test("what was accepted was not rejected, whatever stands beside it", () => {
  const { rejectionReason: _, ...accepted } = rejected({ innkeeper: { code: "turnExists" } });
  expect(isRejectedAs(accepted, "turnExists")).toBe(false);
});
