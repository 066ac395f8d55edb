import { expect, test } from "vitest";
import { offeredIn, saidBy } from "./serverOffer";

test("what a server offers is read, and nonsense is left out", () => {
  const answer = { tools: [{ name: "look", title: "Look", description: "Looks" }, { name: "go" }, null, 7, { name: "" }], nextCursor: "2" };
  expect(offeredIn("tools", answer)).toEqual({ items: [{ name: "Look", description: "Looks" }, { name: "go" }], next: "2" });
  expect(offeredIn("resources", { resources: [{ uri: "db://rows" }] })).toEqual({ items: [{ name: "db://rows" }] });
  for (const odd of [undefined, null, 7, { tools: "all" }, []]) expect(offeredIn("tools", odd)).toEqual({ items: [] });
});

test.each([
  [{ method: "notifications/tools/list_changed" }, { changed: "tools" }],
  [{ method: "notifications/resources/list_changed" }, { changed: "resources" }],
  [{ method: "notifications/message", params: { level: "warning", data: "slow" } }, { words: "warning: slow" }],
  [{ method: "notifications/message", params: { data: { rows: 3 } } }, { words: '{"rows":3}' }],
  [{ method: "notifications/progress" }, undefined],
])("what a server says is understood: %j", (params, expected) => {
  expect(saidBy(params)).toEqual(expected);
});
