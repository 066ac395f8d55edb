import { expect, test, vi } from "vitest";
import type { Ear } from "../protocol/listening";
import type { Host } from "./host";
import { changeOf, watchFile } from "./watches";

const changes = (...items: { uri: string; type: "added" | "updated" | "deleted" }[]) => ({
  channel: "w:1",
  action: { type: "resourceWatch/changed", changes: { items } },
});

test("the last that is said of a file counts", () => {
  const said = changes({ uri: "f:a", type: "deleted" }, { uri: "f:b", type: "updated" }, { uri: "f:a", type: "added" });
  expect(changeOf("f:a", "action", said)).toBe("added");
  expect(changeOf("f:c", "action", said)).toBeUndefined();
  expect(changeOf("f:a", "otlp/exportLogs", said)).toBeUndefined();
  expect(changeOf("f:a", "action", { action: { type: "chat/delta" } })).toBeUndefined();
});

function host() {
  const ears: Ear[] = [];
  const leave = vi.fn();
  const persist = vi.fn(() => Promise.resolve({ channel: `w:${ears.length}` }));
  const to = (_: string, ear: Ear) => {
    ears.push(ear);
    return leave;
  };
  return { ears, leave, persist, host: { connection: { persist }, listening: { to } } as unknown as Host };
}

test("a file is followed until nobody looks, and anew when the host has forgotten it", async () => {
  const { ears, leave, persist, host: it } = host();
  const heard: string[] = [];
  const stop = watchFile(it, "f:a", (change) => heard.push(change));
  await vi.waitFor(() => expect(ears).toHaveLength(1));
  ears[0]?.hear("action", changes({ uri: "f:a", type: "updated" }));
  expect(heard).toEqual(["updated"]);
  ears[0]?.gone?.();
  await vi.waitFor(() => expect(ears).toHaveLength(2));
  expect(heard).toEqual(["updated", "updated"]);
  expect(persist).toHaveBeenCalledTimes(2);
  stop();
  expect(leave).toHaveBeenCalledOnce();
});
