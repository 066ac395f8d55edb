import { expect, test } from "vitest";
import { candidatesFor, copyOf, inOrder, isPicture, isWithin, namedIn, shortened } from "./files";

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

test.each([
  ["/srv/me/tally/src/parse.py", "src/parse.py"],
  ["Read /srv/me/tally/a and `/srv/me/tally/b`", "Read a and `b`"],
  ["/mnt/srv/me/tally/a", "/mnt/srv/me/tally/a"],
  ["/srv/me/tally2/a", "/srv/me/tally2/a"],
  ["cp --to=/srv/me/tally/a /etc/b", "cp --to=a /etc/b"],
  ["/srv/me/tally/", "/srv/me/tally/"],
  ["Remove /srv/me/tally/ now", "Remove /srv/me/tally/ now"],
  ["Read `/srv/me/tally/`", "Read `/srv/me/tally/`"],
])("paths below the directory are short: %s", (line, short) => expect(shortened(line, ["file:///srv/me/tally"])).toBe(short));

test("a directory that is nearly everything shortens nothing", () => expect(shortened("/srv/me/a", ["file:///srv", "file:///"])).toBe("/srv/me/a"));

test.each([
  ["file:///srv/a/shot.PNG", true],
  ["file:///srv/a/shot.svg", false],
  ["file:///srv/a/png", false],
])("%s can be shown as a picture: %s", (uri, expected) => expect(isPicture(uri)).toBe(expected));
