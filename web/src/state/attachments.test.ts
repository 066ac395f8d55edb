import { describe, expect, test } from "vitest";
import type { MessageAttachment } from "../protocol/types";
import { aboutSuggestion, accepted, goingAlong, iconOf, standsIn, selectionOf } from "./attachments";

const command: MessageAttachment = { type: "simple", label: "/review", displayKind: "command", _meta: { command: "review", more: [1, { deep: null }] } };
const file: MessageAttachment = { type: "resource", label: "menu.txt", uri: "file:///menu.txt", _meta: { score: 3 } };

describe("a suggestion that is accepted", () => {
  test("takes the place of what was typed, or of the range that the host names", () => {
    const typed = { start: 4, offset: 7 };
    expect(accepted({ insertText: "@menu.txt" }, "see @me now", typed)).toBe("see @menu.txt  now");
    expect(accepted({ insertText: "@menu.txt ", rangeStart: 4, rangeEnd: 8 }, "see @me now", typed)).toBe("see @menu.txt now");
  });

  test("goes along whole, with everything in its _meta", () => {
    expect(goingAlong([command, file], "/review @menu.txt")).toEqual([command, file]);
  });

  test("that was typed over does not go along", () => {
    expect(goingAlong([command, file], "look at @menu.txt")).toEqual([file]);
  });

  test("that stands in the text needs no place of its own", () => {
    expect(standsIn("/review this", command)).toBe(true);
    expect(standsIn("@menu.txt", file)).toBe(false);
  });
});

describe("the icon of an attachment", () => {
  test("follows its kind, and is a file's where no one knows the kind", () => {
    const kinds = ["image", "directory", "hologram", "constructor", undefined];
    expect(kinds.map((displayKind) => iconOf({ displayKind }))).toEqual(["image", "folder", "file", "file", "file"]);
  });
});

test("a suggestion says what it does and what it takes, where the host knows", () => {
  const _meta = { command: "review", description: "Looks at a change\nand more", argumentHint: "<branch>" };
  const attachment: MessageAttachment = { type: "simple", label: "/review", displayKind: "command", _meta };
  expect(aboutSuggestion({ insertText: "/review ", attachment })).toEqual({ name: "/review", hint: "<branch>", about: "Looks at a change", icon: "terminal" });
  expect(aboutSuggestion({ insertText: "@menu.txt", attachment: file })).toEqual({ name: "menu.txt", hint: undefined, about: undefined, icon: "file" });
});

test("lines of a file go along as they are, under the numbers that they have", () => {
  const one = selectionOf("src/parse.py", ["naïve = 1"], 7);
  expect(one).toMatchObject({ type: "embeddedResource", label: "src/parse.py:7", displayKind: "selection", contentType: "text/plain" });
  const text = one.type === "embeddedResource" ? Buffer.from(one.data, "base64").toString() : "";
  expect(text).toBe("naïve = 1\n");
  expect(selectionOf("a", ["1", "2", "3"], 4).label).toBe("a:4-6");
});
