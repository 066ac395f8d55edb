import { describe, expect, test } from "vitest";
import type { UiMessage } from "./appState";
import { sessionHtml } from "./exportHtml";

const page = (messages: UiMessage[], title = "A session") => sessionHtml({ title, agent: "Script", directories: ["/kitchen"], writtenAt: "today", messages });
const HOSTILE = `</pre></style><script>alert(1)</script><img src=x onerror="alert(1)">'&`;

describe("a session as a file", () => {
  test("holds what was said, in order", () => {
    const html = page([
      { id: "1", kind: "user", text: "Make soup" },
      { id: "2", kind: "tool", text: "", toolStep: { toolName: "stir", toolArgs: '{"pot":1}', phase: "done", result: "stirred" } },
      { id: "3", kind: "assistant", text: "Here:\n```js\nsoup()\n```\nEnjoy" },
    ]);
    const places = ["Make soup", "stir", "stirred", "Here:", "<pre>soup()", "Enjoy"].map((words) => html.indexOf(words));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
  });

  test.each(["user", "assistant", "thinking", "error", "system", "tool", "bash"] as const)("takes nothing that %s says for markup", (kind) => {
    const html = page(
      [
        {
          id: "1",
          kind,
          text: HOSTILE,
          toolStep: { toolName: HOSTILE, toolArgs: HOSTILE, phase: "error", result: HOSTILE },
          bashResult: { command: HOSTILE, output: HOSTILE, exitCode: 1 },
          images: [{ label: HOSTILE, src: `data:image/png;base64,"><script>` }, { label: "elsewhere", src: "https://example.org/x.png" }],
        },
      ],
      HOSTILE,
    );
    expect(html.match(/<script|<img src=x|onerror="/g)).toBeNull();
    expect(html).not.toContain("example.org");
    expect(html.match(/<\/style>/g)).toHaveLength(1);
  });

  test("asks nobody for anything and runs nothing", () => {
    expect(page([])).toContain(`default-src 'none'`);
    expect(page([])).not.toMatch(/<script|<link|https?:/);
  });
});
