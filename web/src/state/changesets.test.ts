import { describe, expect, test } from "vitest";
import { isLate } from "./changesets";

describe("changes of which some may be missing", () => {
  test.each([
    [undefined, false],
    [{}, false],
    [{ innkeeper: {} }, false],
    [{ innkeeper: { stateBefore: "late" } }, true],
  ])("are told by the host: %j", (_meta, late) => {
    expect(isLate([{ id: "a", edit: {} }, { id: "b", edit: {}, ...(_meta ? { _meta } : {}) }])).toBe(late);
  });
});
