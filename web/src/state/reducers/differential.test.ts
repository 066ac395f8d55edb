// The same random runs of actions through these reducers and through the
// protocol's own (in Rust): the states must agree.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StateAction } from "../../protocol/types";
import { reduce } from ".";
import type { ChannelState } from ".";
import { runsFor, stateFor } from "./arbitrary";

const root = new URL("../../../../", import.meta.url).pathname;
const target = process.env["CARGO_TARGET_DIR"] ?? join(root, "target");
const program = join(target, "debug/examples/reduce");
const RUNS = 1000;
/** Making the runs takes a while on a busy machine. */
const TIME = 30_000;
const SEED = Number(process.env["INNKEEPER_SEED"] ?? 7);

test.runIf(existsSync(program)).each(["root", "session", "chat", "terminal", "changeset", "canvas", "annotations", "automations", "automationRun"] as const)(
  "%s: both reducers make the same of the same actions (needs `cargo build --example reduce`)",
  (channel) => {
    const runs = fc.sample(runsFor(channel), { numRuns: RUNS, seed: SEED });
    const input = runs.map((actions) => JSON.stringify({ channel, state: stateFor(channel), actions })).join("\n");
    const { stdout, stderr } = spawnSync(program, { input: `${input}\n`, encoding: "utf8", maxBuffer: 1 << 28 });
    const theirs = stdout.trim().split("\n");
    expect(stderr).toBe("");
    expect(theirs).toHaveLength(RUNS);
    for (const [index, actions] of runs.entries()) {
      const ours = fold({ kind: channel, state: stateFor(channel) } as ChannelState, actions);
      expect(plain(ours), JSON.stringify(actions)).toEqual(JSON.parse(theirs[index] ?? "null"));
    }
  },
  TIME,
);

function fold(channel: ChannelState, actions: StateAction[]): ChannelState["state"] {
  return actions.reduce((state, action) => reduce(state, action), channel).state;
}

/** As it would go over the wire: without what is undefined. */
function plain(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state));
}
