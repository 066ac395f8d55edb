// Answers are read block by block, so that a token costs its block. That must
// make of a text what the library makes of it as a whole: here, of every README
// that is installed.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Markdown } from "../../views/ui/Markdown";
import { definitionsIn } from "./syntax";
import { renderMarkdown } from "./render";

const root = new URL("../../../node_modules/", import.meta.url).pathname;
const packages = readdirSync(root).flatMap((name) => (name.startsWith("@") ? readdirSync(`${root}${name}`).map((inner) => `${name}/${inner}`) : [name]));
const readmes = packages.map((name) => `${root}${name}/README.md`).filter((name) => existsSync(name));
/** Longer ones take long, and say the same. */
const LONGEST = 60_000;

/** What there is to see, without what the blocks are wrapped in. */
function shape(html: string): string {
  return html
    .replace(/<div class="md(?: md-long)?">|<div class="md-group">|<\/div>|<div[^>]*>/g, "")
    .replace(/\s+/g, " ");
}

test("READMEs look as the library makes them", () => {
  expect(readmes.length).toBeGreaterThan(50);
  const different = readmes.filter((name) => {
    const text = readFileSync(name, "utf8").replaceAll("\r\n", "\n");
    if (text.length > LONGEST) return false;
    const whole = renderToStaticMarkup(<>{renderMarkdown(text, definitionsIn(text))}</>);
    return shape(renderToStaticMarkup(<Markdown text={text} />)) !== shape(whole);
  });
  expect(different).toEqual([]);
}, 60_000);
