// A conversation as one HTML file that needs nothing else: no script, no request,
// and everything that somebody said is text.

import type { UiMessage } from "./appState";

export interface Exported {
  title: string;
  agent: string;
  directories: readonly string[];
  /** When it was written, in words. */
  writtenAt: string;
  messages: readonly UiMessage[];
}

/** Names for what is said, by whom. */
const NAMES: Record<UiMessage["kind"], string> = { user: "You", assistant: "Agent", thinking: "Thinking", tool: "Tool", bash: "Command", error: "Error", system: "Note" };

export function sessionHtml({ title, agent, directories, writtenAt, messages }: Exported): string {
  const about = [agent, ...directories, writtenAt].filter(Boolean).map(escaped).join(" · ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header><h1 dir="auto">${escaped(title)}</h1><p>${about}</p></header>
<main>
${messages.map(entry).filter(Boolean).join("\n")}
</main>
</body>
</html>
`;
}

function entry(message: UiMessage): string {
  const { kind, text, toolStep, bashResult, images = [] } = message;
  const name = `<h2>${NAMES[kind]}</h2>`;
  const pictures = images.map(({ label, src }) => (src.startsWith("data:image/") ? `<img alt="${escaped(label)}" src="${escaped(src)}">` : "")).join("");
  switch (kind) {
    case "tool":
      return folded(kind, `${toolStep?.toolName ?? "Tool"}${toolStep?.phase === "error" ? " (failed)" : ""}`, [toolStep?.toolArgs ?? "", toolStep?.result ?? text]) + pictures;
    case "bash":
      return folded(kind, bashResult?.command ?? text, [bashResult?.output ?? "", bashResult?.exitCode ? `exit ${bashResult.exitCode}` : ""]);
    case "thinking":
      return folded(kind, NAMES[kind], [text]);
    case "user":
    case "assistant":
    case "error":
    case "system":
      return text.trim() || pictures ? `<article class="${kind}">${name}${prose(text)}${pictures}</article>` : "";
  }
}

function folded(kind: UiMessage["kind"], title: string, parts: string[]): string {
  const body = parts.filter((part) => part.trim() !== "").map((part) => `<pre>${escaped(part)}</pre>`).join("");
  return `<details class="${kind}"><summary dir="auto">${escaped(title)}</summary>${body}</details>`;
}

/** Text as it was written; fenced code in a box of its own. */
function prose(text: string): string {
  const parts = text.split(/^(?:```|~~~)[^\n]*\n?/m);
  return parts.map((part, index) => (index % 2 === 1 ? `<pre>${escaped(part)}</pre>` : part.trim() ? `<div class="text" dir="auto">${escaped(part.trim())}</div>` : "")).join("");
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escaped(text: string): string {
  // Control characters, which agents print for colours, mean nothing here.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "").replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

const STYLE = [
  ":root{color-scheme:light dark;font:15px/1.6 ui-sans-serif,system-ui,sans-serif}",
  "body{max-width:46rem;margin:0 auto;padding:2rem 1.25rem}",
  "header{border-bottom:1px solid #8885;margin-bottom:1.5rem}h1{font-size:1.4rem;margin:0}header p{opacity:.7}",
  "h2{font-size:.8rem;margin:0 0 .25rem;opacity:.65}article{margin:1rem 0}",
  "article.user{padding:.6rem .9rem;border-radius:.6rem;background:#8882}article.error{padding:.6rem .9rem;border-left:3px solid #c33}",
  ".text{white-space:pre-wrap;overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.6rem .8rem;border-radius:.4rem;background:#8882;font:.85em/1.5 ui-monospace,monospace}",
  "details{margin:.4rem 0}summary{cursor:pointer;overflow-wrap:anywhere}details.tool summary,details.bash summary{font-family:ui-monospace,monospace;font-size:.85em}details.thinking{opacity:.75}",
  "img{max-width:100%;border-radius:.4rem}",
].join("\n");
