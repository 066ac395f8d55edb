import { expect, test } from "vitest";
import { Listening } from "./listening";
import { ConnectionLost, RpcError } from "./rpc";

function line(answer: () => Promise<unknown> = () => Promise.resolve({})) {
  const said: string[] = [];
  const listening = new Listening({
    request: (method, params) => {
      said.push(`${method} ${(params as { channel: string }).channel}`);
      return answer();
    },
    notify: (method, params) => void said.push(`${method} ${(params as { channel: string }).channel}`),
  });
  return { said, listening };
}

test("a channel is subscribed to once, and left with the last who listens", () => {
  const { said, listening } = line();
  const heard: string[] = [];
  const leave = ["one", "two"].map((name) => listening.to("x:a", { hear: (method) => heard.push(`${name} ${method}`) }));
  listening.heard("news", { channel: "x:a" });
  listening.heard("news", { channel: "x:b" });
  listening.heard("news", null);
  expect(heard).toEqual(["one news", "two news"]);
  leave[0]?.();
  leave[0]?.();
  expect(said).toEqual(["subscribe x:a"]);
  leave[1]?.();
  expect(said).toEqual(["subscribe x:a", "unsubscribe x:a"]);
});

test("a new connection is told what is listened to", () => {
  const { said, listening } = line();
  listening.to("x:a", { hear: () => {} });
  listening.again();
  expect(said).toEqual(["subscribe x:a", "subscribe x:a"]);
});

test("whoever listens to nothing is told so, and a lost connection is not nothing", async () => {
  let error: Error = new ConnectionLost("lost");
  const { listening } = line(() => Promise.reject(error));
  let gone = 0;
  listening.to("x:a", { hear: () => {}, gone: () => gone++ });
  await Promise.resolve();
  await Promise.resolve();
  expect(gone).toBe(0);
  error = new RpcError({ code: -32001, message: "there is no such channel" });
  listening.again();
  await Promise.resolve();
  await Promise.resolve();
  expect(gone).toBe(1);
});
