import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { debounced } from "./debounce";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("of calls in quick succession the last one counts, and one that is cancelled does not", () => {
  const heard: string[] = [];
  const { later, cancel } = debounced((text: string) => heard.push(text), 80);
  for (const text of ["@", "@m", "@me"]) {
    later(text);
    vi.advanceTimersByTime(79);
  }
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(heard).toEqual(["@me"]);
  later("@men");
  cancel();
  vi.advanceTimersByTime(1000);
  expect(heard).toEqual(["@me"]);
});
