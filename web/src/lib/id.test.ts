import { expect, test, vi } from "vitest";
import { newId } from "./id";

const SHAPE = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test("ids have the same shape with and without the browser's own function", () => {
  expect(newId()).toMatch(SHAPE);
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  expect(newId()).toMatch(SHAPE);
  expect(newId()).not.toBe(newId());
  vi.unstubAllGlobals();
});
