// The contrast of text and controls on what they stand on, in light and in dark.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const source = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");
const PAIR = /--([\w-]+): light-dark\((#[\da-f]{6}), (#[\da-f]{6})\);/g;
const tokens = new Map([...source.matchAll(PAIR)].map(([, name = "", light = "", dark = ""]) => [name, { light, dark }]));

const SURFACES = ["bg", "bg-side", "bg-raised", "bg-sunken", "bg-hover", "bg-active", "bubble", "code-bg"];
const QUIET = ["bg", "bg-side", "bg-raised", "bg-sunken", "bg-hover", "code-bg"];

/** Text, what it stands on, and the least contrast between them: 4.5 for text, 3 for lines that tell something. */
const USES: [texts: string[], surfaces: string[], least: number][] = [
  [["text", "text-soft"], SURFACES, 4.5],
  [["text-faint"], ["bg", "bg-side", "bg-raised", "bg-sunken"], 4.5],
  [["accent"], [...QUIET, "accent-soft"], 4.5],
  [["accent-text"], ["accent", "accent-hover"], 4.5],
  [["needs"], [...QUIET, "needs-soft"], 4.5],
  [["ok"], [...QUIET, "ok-soft"], 4.5],
  [["bad"], [...QUIET, "bad-soft"], 4.5],
  [["text", "text-soft"], ["accent-soft", "needs-soft", "ok-soft", "bad-soft", "selection"], 4.5],
  [["hl-keyword", "hl-string", "hl-number", "hl-comment", "hl-title"], ["code-bg", "bg-raised", "ok-soft", "bad-soft"], 4.5],
  [["bg"], ["needs"], 4.5],
  [["focus"], SURFACES, 3],
];

const CASES = USES.flatMap(([texts, surfaces, least]) =>
  texts.flatMap((text) => surfaces.flatMap((surface) => (["light", "dark"] as const).map((scheme) => [text, surface, scheme, least] as const))),
);

test.each(CASES)("%s can be read on %s in %s", (text, surface, scheme, least) => {
  const [above, below] = [tokens.get(text)?.[scheme], tokens.get(surface)?.[scheme]];
  expect(above, text).toBeDefined();
  expect(below, surface).toBeDefined();
  expect(contrast(above ?? "", below ?? "")).toBeGreaterThanOrEqual(least);
});

/** As WCAG 2 computes it. */
function contrast(a: string, b: string): number {
  const [darker = 0, lighter = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
