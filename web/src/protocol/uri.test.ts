import { expect, test } from "vitest";
import { pathWithin } from "./uri";

test.each([
  ["file:///w/kitchen/menu.txt", "menu.txt"],
  ["file:///w/kitchen/cellar/red%20wine.md", "cellar/red wine.md"],
  ["file:///w/kitchens/menu.txt", "/w/kitchens/menu.txt"],
  ["file:///w/kitchen", "/w/kitchen"],
  ["file:///other/a", "a"],
  ["virtual://client/a", "virtual://client/a"],
])("%s is shown as %s", (uri, shown) => {
  expect(pathWithin(["file:///w/kitchen", "file:///other/"], uri)).toBe(shown);
});
