import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { runsOf } from "../highlight/runs";
import { Markdown } from "../../views/ui/Markdown";
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
    ["&eacute;&Eacute; &rarr; &frac12; &NotEqualTilde;", "éÉ → ½ ≂̸"],
    ["&#8211; &#x2013; &#X2013;", "– – –"],
    ["&#0; &#xd800; &#1114112;", "\ufffd \ufffd \ufffd"],
    ["&nothing; &amp &constructor; a&b;", "&amp;nothing; &amp;amp &amp;constructor; a&amp;b;"],
    ["\\&eacute; `&eacute;`", "&amp;eacute; <code>&amp;eacute;</code>"],
  ])("character references: %s", (source, shown) => expect(html(source)).toBe(`<p>${shown}</p>`));

  test("character references in links lead where they should", () => {
    expect(html('[x](https://example.org/?a=1&amp;b=2 "&Uuml;ber")')).toContain('href="https://example.org/?a=1&amp;b=2" title="Über"');
  });

  test.each([
    "<script>alert(1)</script>",
    'text <img src=x onerror="alert(1)"> text',
    "[x](javascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x][y]\n\n[y]: javascript:alert(1)",
    "&lt;script>alert(1)&lt;/script>",
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

describe("references", () => {
  const shown = (text: string, isStreaming = false) => renderToStaticMarkup(<Markdown text={text} isStreaming={isStreaming} />);
  const link = (to: string) => `<a href="https://${to}.example" target="_blank" rel="noopener noreferrer">`;

  test("a definition holds for all of a text, wherever it stands", () => {
    expect(shown("see [it][1]\n\nor [Docs]\n\n[1]: https://one.example\n[docs]: https://docs.example")).toContain(link("docs"));
    expect(shown("[1]: https://one.example\n\n- a\n\nsee [it][1]")).toContain(link("one"));
    expect(shown("[it][1]\n\n- a\n\n  [1]: https://one.example\n\nend")).toContain(link("one"));
    expect(shown("[it][1]\n\n> [1]: https://one.example")).toContain(link("one"));
    const long = `${"[it][1]\n\n".repeat(60)}[1]: https://one.example`;
    expect(shown(long).split(link("one"))).toHaveLength(61);
  });

  test("the first definition of a label counts", () => {
    const text = "[1]: https://one.example\n\n[a][1]\n\n[1]: https://two.example";
    expect(shown(text)).toContain(link("one"));
    expect(shown(text)).not.toContain("two");
  });

  test("what is not a definition is none", () => {
    expect(shown("[a][1]\n\n```\n[1]: https://one.example\n```")).toContain("[a][1]");
    expect(shown("[constructor] [toString][]\n\n[1]: https://one.example")).toContain("[constructor] [toString][]");
  });

  test("one that is still being written is not followed", () => {
    const text = "[a][1]\n\nbetween\n\n[1]: https://one.exam";
    expect(shown(text, true)).toContain("[a][1]");
    expect(shown(`${text}ple\n\nmore\n`, true)).toContain(link("one"));
  });
});

test("highlighted code is text with classes", () => {
  expect(runsOf('<span class="hljs-keyword">let</span> a &lt; <span class="hljs-string">&quot;b&quot;</span>')).toEqual([
    ["hljs-keyword", "let"],
    ["", " a < "],
    ["hljs-string", '"b"'],
  ]);
});
