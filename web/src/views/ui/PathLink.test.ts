import { expect, test } from "vitest";
import { pathIn } from "./PathLink";

test.each([
  ["src/main.rs", { path: "src/main.rs" }],
  ["src/main.rs:12", { path: "src/main.rs", line: 12 }],
  ["src/main.rs:12:5", { path: "src/main.rs", line: 12 }],
  ["./a/b.ts#L3-L9", { path: "./a/b.ts", line: 3 }],
  ["/etc/hosts", { path: "/etc/hosts" }],
  ["README.md", { path: "README.md" }],
  [".github/workflows/ci.yml", { path: ".github/workflows/ci.yml" }],
])("%s names a file", (text, place) => expect(pathIn(text)).toEqual(place));

test.each(["npm test", "/scenarios", "a/b", "1/2", "console.log()", "foo", "https://example.org/a.html", "--flag", "example.com", "x".repeat(400) + ".ts", "a\nb.ts", "..", ""])(
  "%j does not",
  (text) => expect(pathIn(text)).toBeUndefined(),
);

test.each(["docs/guide", "../LICENSE"])("a link to %s does", (text) => expect(pathIn(text, true)?.path).toBe(text));
test.each(["javascript:alert(1)", "data:text/html,x", "#top"])("a link to %s does not", (text) => expect(pathIn(text, true)).toBeUndefined());
