import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { runsOf } from "../highlight/runs";
import { renderMarkdown } from "./render";

const html = (source: string) => renderToStaticMarkup(<>{renderMarkdown(source)}</>);

describe("Markdown", () => {
  test("the usual things look as expected", () => {
    expect(html("a **b** `c` ~~d~~")).toBe("<p>a <strong>b</strong> <code>c</code> <del>d</del></p>");
    expect(html("- [x] done\n- [ ] open")).toContain('type="checkbox"');
    expect(html("| a |\n| - |\n| 1 |")).toContain("<td>1</td>");
    expect(html("AT&amp;T &lt;b&gt; &#39;")).toContain("AT&amp;T &lt;b&gt; &#x27;");
  });

  test.each([
    "<script>alert(1)</script>",
    'text <img src=x onerror="alert(1)"> text',
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](https://example.org/pixel.png)",
    "<a href='javascript:alert(1)'>x</a>",
  ])("nothing dangerous comes out of %s", (source) => {
    const out = html(source);
    expect(out).not.toMatch(/<script|<img|href="(?!https?:|mailto:)/);
  });

  test("links open elsewhere and tell nothing about here", () => {
    expect(html("[x](https://example.org)")).toContain('rel="noopener noreferrer"');
  });
});

test("highlighted code is text with classes", () => {
  expect(runsOf('<span class="hljs-keyword">let</span> a &lt; <span class="hljs-string">&quot;b&quot;</span>')).toEqual([
    ["hljs-keyword", "let"],
    ["", " a < "],
    ["hljs-string", '"b"'],
  ]);
});
