import { expect, test } from "vitest";
import type { MessageAttachment } from "../protocol/types";
import { followMentions } from "./mentions";

const menu: MessageAttachment = { type: "resource", label: "menu.txt", uri: "file:///kitchen/menu.txt" };
const upload: MessageAttachment = { type: "resource", label: "shot.png", uri: "innkeeper-content:/uploads/1/shot.png" };
const picture: MessageAttachment = { type: "embeddedResource", label: "menu.txt", contentType: "text/plain", data: "" };

test.each([
  ["its mention is deleted", "see @menu.txt now", "see now"],
  ["its mention is cut short", "see @menu.txt", "see @menu.t"],
  ["its mention with a path is deleted", "@kitchen/menu.txt please", "please"],
])("an attachment goes when %s", (_, before, after) => {
  const { words, dropped } = followMentions({ text: before, attachments: [menu] }, after, []);
  expect(words).toEqual({ text: after, attachments: [] });
  expect(dropped).toEqual([menu]);
});

test("a skill goes with its word", () => {
  const skill: MessageAttachment = { type: "resource", label: "/notes", uri: "file:///skills/notes.md" };
  expect(followMentions({ text: "/notes please", attachments: [skill] }, " please", []).words.attachments).toEqual([]);
});

test("it comes back with its mention", () => {
  const { words, dropped } = followMentions({ text: "see ", attachments: [] }, "see @menu.txt.", [menu]);
  expect(words.attachments).toEqual([menu]);
  expect(dropped).toEqual([]);
});

test.each([
  ["the rest of the text changes", "see @menu.txt", "look at @menu.txt"],
  ["it was never mentioned", "see this", "see"],
])("it stays when %s", (_, before, after) => {
  const { words } = followMentions({ text: before, attachments: [menu, upload, picture] }, after, []);
  expect(words.attachments).toEqual([menu, upload, picture]);
});
