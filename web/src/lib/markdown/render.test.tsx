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

describe("what Markdown has beyond the usual", () => {
  const shown = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

  test.each([
    ["Press <kbd>Ctrl</kbd> + <kbd>K</kbd>", "Press <kbd>Ctrl</kbd> + <kbd>K</kbd>"],
    ["a<br>b<br/>c", "a<br/>b<br/>c"],
    ["H<sub>2</sub>O and x<sup>**2**</sup>", "H<sub>2</sub>O and x<sup><strong>2</strong></sup>"],
    ["a <KBD>b</KBD> c", "a <kbd>b</kbd> c"],
    ["<kbd>open", "&lt;kbd&gt;open"],
    ["open</kbd>", "open&lt;/kbd&gt;"],
    ["<kbd onclick=x>a</kbd>", "&lt;kbd onclick=x&gt;a&lt;/kbd&gt;"],
    ["a <!-- hidden --> b", "a  b"],
    ["<b>a <i>b</b> c</i>", "&lt;b&gt;a <i>b&lt;/b&gt; c</i>"],
  ])("a few elements: %s", (source, out) => expect(html(source)).toContain(out));

  test("sections that open", () => {
    const out = shown("<details>\n<summary>More <b>of</b> it</summary>\n\nsome **text**\n\n```js\nx\n```\n\n</details>\n\nafter");
    expect(out).toMatch(/<details><summary>More of it<\/summary><p>some <strong>text<\/strong><\/p>[^]*<\/details><p>after<\/p>/);
    expect(shown("<details open><summary>x</summary>body</details>")).toContain('<details open=""><summary>x</summary><p>body</p></details>');
    expect(shown("<details>\n\na\n\n<details>\n\nb\n\n</details>\n\nc\n\n</details>\n\nd").match(/<details>/g)).toHaveLength(2);
    expect(shown("<details>\n<summary>never closed</summary>\n\ntext")).toContain("<p>text</p></details>");
  });

  test.each(["NOTE", "tip", "IMPORTANT", "WARNING", "CAUTION"])("alerts: %s", (kind) => {
    expect(shown(`> [!${kind}]\n> Mind **this**.`)).toContain(`<div class="md-alert md-alert-${kind.toLowerCase()}" role="note">`);
    expect(shown(`> [!${kind}]\n> Mind **this**.`)).toContain("<p>Mind <strong>this</strong>.</p>");
  });

  test("a quote that only looks like an alert is a quote", () => {
    expect(shown("> [!NOTHING]\n> text")).toContain("<blockquote>");
  });

  test("footnotes lead from where they are meant to where they stand", () => {
    const out = shown("One[^1] and two[^Big].\n\ntext\n\n[^1]: The first.\n[^big]: The *second*,\n  in two lines.\n");
    expect(out).toContain('aria-label="Footnote 1"');
    expect(out).toContain('data-footnote="big"');
    expect(out).toContain("<p>The <em>second</em>,\nin two lines.</p>");
    expect(out).not.toContain("[^");
    expect(shown("the class [^a-z] and [^1]")).toContain("the class [^a-z] and [^1]");
    expect(shown("a[^x]\n\n[^x]: <img src=x onerror=alert(1)>")).not.toContain("<img");
  });

  test.each([
    ["\\(a^2\\)", "<p><code>a^2</code></p>"],
    ["so $$a+b$$ it is", "so <code>a+b</code> it is"],
    ["$$\na\n+ b\n= c\n$$", "<code>a\n+ b\n= c</code>"],
    ["\\[\nx\n\\]", "<code>x</code>"],
    ["it costs $5 or $6", "<p>it costs $5 or $6</p>"],
    ["`$$a$$`", "<p><code>$$a$$</code></p>"],
    ["$$$$", "<p>$$$$</p>"],
  ])("formulas are found: %j", (source, out) => {
    // Until the library for them is there, they are shown as they were written.
    expect(shown(source).replace(/<!--.*?-->|<template[^>]*><\/template>/g, "")).toContain(out);
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
