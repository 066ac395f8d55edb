// Asks the worker for colours. The worker, and the languages with it, are
// loaded when the first piece of code wants them.

import type { Run } from "./runs";
import type { Question } from "./worker";

/** Colours for more than this cost more than they help. */
const LIMIT = 100_000;

let worker: Worker | undefined;
let nextId = 1;
const waiting = new Map<number, (runs: Run[] | undefined) => void>();

export function highlight(code: string, language: string): Promise<Run[] | undefined> {
  if (!language || code.length > LIMIT || typeof Worker === "undefined") return Promise.resolve(undefined);
  worker ??= start();
  const question: Question = { id: nextId++, code, language: language.toLowerCase() };
  return new Promise((resolve) => {
    waiting.set(question.id, resolve);
    worker?.postMessage(question);
  });
}

function start(): Worker {
  const started = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  started.onmessage = ({ data }: MessageEvent<{ id: number; runs: Run[] | undefined }>) => {
    waiting.get(data.id)?.(data.runs);
    waiting.delete(data.id);
  };
  started.onerror = () => {
    for (const resolve of waiting.values()) resolve(undefined);
    waiting.clear();
  };
  return started;
}
