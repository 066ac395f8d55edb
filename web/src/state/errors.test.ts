import { describe, expect, test } from "vitest";
import { readError } from "./errors";

describe("errors have titles in words and are told once", () => {
  test.each([
    ["hostInterrupted", "The host stopped while this turn was running. Everything up to then is here; resume the turn to continue.", { title: "The host stopped while this turn was running", message: "Everything up to then is here." }],
    ["hostInterrupted", "The host ended while this turn was running. What it had said is here; resume the turn to go on.", { title: "The host stopped while this turn was running", message: "What it had said is here." }],
    ["agentExited", "The agent ended unexpectedly: the agent's backend ended unexpectedly", { title: "The agent stopped unexpectedly", message: "" }],
    ["agentExited", "Claude ended unexpectedly: signal 9", { title: "The agent stopped unexpectedly", message: "Signal 9" }],
    ["agentError", "Internal error: Missing provider", { title: "The agent reported an error", message: "Missing provider" }],
    ["rateLimitExceeded", "too much", { title: "Rate limit exceeded", message: "Too much" }],
    ["overloaded_error", "", { title: "Overloaded error", message: "" }],
    ["constructor", "", { title: "Constructor", message: "" }],
    [undefined, "why", { title: "Something went wrong", message: "Why" }],
  ])("%s: %s", (type, text, shown) => expect(readError(type, text)).toEqual(shown));

  test("what the agent said itself is not said again, and can be looked up", () => {
    const text = "Internal error: API Error: 529 overloaded";
    expect(readError("agentError", text, "API Error: 529 overloaded")).toEqual({ title: "The agent reported an error", message: "", details: text });
  });

  test.each(["TypeError: x / at run (node:internal) / at go", "TypeError: x\n  at run\n  at go"])("a stack trace is for those who open it: %s", (text) => {
    expect(readError("agentError", text)).toEqual({ title: "The agent reported an error", message: "TypeError: x", details: text });
  });
});
