import { expect, test } from "vitest";
import { candidatesFor, copyOf, inOrder, isWithin, namedIn } from "./files";

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

test.each([
  ["notes", "file:///d/notes"],
  [" a b ", "file:///d/a%20b"],
  ["a/b", undefined],
  ["..", undefined],
  [".git", undefined],
  ["  ", undefined],
])("what is called %j in a directory", (name, uri) => expect(namedIn("file:///d", name)).toBe(uri));

test.each([
  ["file:///d/a.txt", 1, "file:///d/a%20copy.txt"],
  ["file:///d/a.txt", 2, "file:///d/a%20copy%202.txt"],
  ["file:///d/.env", 1, "file:///d/.env%20copy"],
  ["file:///Makefile", 1, "file:///Makefile%20copy"],
])("a copy of %s", (uri, number, copy) => expect(copyOf(uri, number)).toBe(copy));

test("a name that begins alike is not within", () => {
  expect(isWithin("file:///one", "file:///one/a")).toBe(true);
  expect(isWithin("file:///one", "file:///oneself/a")).toBe(false);
});
