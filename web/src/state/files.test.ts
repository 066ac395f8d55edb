import { expect, test } from "vitest";
import { candidatesFor, inOrder, isWithin } from "./files";

test.each([
  ["src/a b.rs", ["file:///one/src/a%20b.rs", "file:///two/src/a%20b.rs"]],
  ["./src/../a.rs", ["file:///one/a.rs", "file:///two/a.rs"]],
  ["/etc/hosts", ["file:///etc/hosts"]],
  ["file:///etc/a%20b", ["file:///etc/a%20b"]],
  ["../../../x", ["file:///x", "file:///x"]],
])("where %s may be", (path, uris) => expect(candidatesFor(path, ["file:///one", "file:///two/", ""])).toEqual(uris));

test("directories come before files, and git's own is left out", () => {
  const entry = (name: string, type = "file") => ({ name, type });
  expect(inOrder([entry("b"), entry("z", "directory"), entry(".git", "directory"), entry("a")]).map(({ name }) => name)).toEqual(["z", "a", "b"]);
});

test("a name that begins alike is not within", () => {
  expect(isWithin("file:///one", "file:///one/a")).toBe(true);
  expect(isWithin("file:///one", "file:///oneself/a")).toBe(false);
});
