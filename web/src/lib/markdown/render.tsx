// Markdown tokens as React nodes. Nothing here takes HTML as HTML, so there is
// nothing to sanitise: what is not one of these elements is text.

import { Fragment, lazy, Suspense } from "react";
import type { ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { CodeBlock } from "../../views/ui/CodeBlock";
import { PathLink, pathIn } from "../../views/ui/PathLink";
import { Picture } from "../../views/ui/Picture";
import { detailsIn, untilEnd, withElements } from "./html";
import { NO_LINKS } from "./links";
import type { Links } from "./links";
import { decode } from "./references";
import { FOOTNOTE, tokensOf } from "./syntax";
import type { FootnoteToken, MathToken } from "./syntax";

const HostPicture = lazy(() => import("../../views/ui/HostPicture"));
const MathView = lazy(() => import("../../views/ui/MathView"));

/** `links` are those that other blocks of the text define. */
export function renderMarkdown(source: string, links: Links = NO_LINKS): ReactNode {
  return blocks(tokensOf(source, links), links);
}

function blocks(tokens: Token[], links: Links): ReactNode {
  const nodes: ReactNode[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (!token) continue;
    const details = token.type === "html" ? detailsIn(token.raw) : undefined;
    if (details) {
      const { end, before } = untilEnd(tokens, at);
      const inner = tokens.slice(at + 1, end);
      nodes.push(
        <details key={at} open={details.isOpen}>
          <summary>{details.summary ? inline(inlineTokens(details.summary, links), links) : "Details"}</summary>
          {renderMarkdown(details.body.replace(/<\/details\s*>\s*$/i, ""), links)}
          {blocks(inner, links)}
          {before.trim() && renderMarkdown(before, links)}
        </details>,
      );
      at = end;
    } else nodes.push(<Fragment key={at}>{block(token, links)}</Fragment>);
  }
  return nodes;
}

/** The inline tokens of a line. */
function inlineTokens(source: string, links: Links): Token[] {
  const [first] = tokensOf(source, links);
  return first && "tokens" in first && first.tokens ? first.tokens : [];
}

function block(token: Token, links: Links): ReactNode {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // The page has its own first heading.
      const Tag = `h${Math.min(6, depth + 1)}` as "h2";
      return <Tag className={`md-h${depth}`}>{inline(tokens, links)}</Tag>;
    }
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens, links)}</p>;
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return <CodeBlock source={`${text}\n`} language={lang?.split(/\s+/)[0] ?? ""} />;
    }
    case "blockquote":
      return quote(token as Tokens.Blockquote, links);
    case "list":
      return list(token as Tokens.List, links);
    case "table":
      return table(token as Tokens.Table, links);
    case "hr":
      return <hr />;
    case "footnote": {
      const { label, tokens } = token as FootnoteToken;
      return (
        <div className="md-footnote" data-footnote={label.toLowerCase()}>
          <span className="md-footnote-label">{label}</span>
          <div>{blocks(tokens, links)}</div>
        </div>
      );
    }
    case "math":
      return formula(token as MathToken);
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, links) : decode(text);
    }
    case "html":
      return html((token as Tokens.HTML).raw);
    default:
      return null;
  }
}

function html(raw: string): ReactNode {
  const text = raw.replace(/<!--[^]*?-->/g, "").trim();
  if (/^<br\s*\/?>$/i.test(text)) return <br />;
  return text ? <p>{text}</p> : null;
}

const ALERT = /^\s*\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|$)/i;

function quote({ tokens, text }: Tokens.Blockquote, links: Links): ReactNode {
  const kind = ALERT.exec(text)?.[1]?.toLowerCase();
  if (!kind) return <blockquote>{blocks(tokens, links)}</blockquote>;
  return (
    <div className={`md-alert md-alert-${kind}`} role="note">
      <p className="md-alert-title">{kind.charAt(0).toUpperCase() + kind.slice(1)}</p>
      {renderMarkdown(text.replace(ALERT, ""), links)}
    </div>
  );
}

function list({ ordered, start, items }: Tokens.List, links: Links): ReactNode {
  const children = items.map((item, index) => (
    <li key={index} className={item.task ? "md-task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} readOnly disabled aria-label="done" />}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"), links)}
    </li>
  ));
  return ordered ? (
    <ol dir="auto" start={typeof start === "number" ? start : undefined}>
      {children}
    </ol>
  ) : (
    <ul dir="auto">{children}</ul>
  );
}

function table({ header, rows, align }: Tokens.Table, links: Links): ReactNode {
  const style = (index: number) => ({ textAlign: align[index] ?? undefined });
  return (
    <div className="md-table" tabIndex={0} role="group" aria-label="Table">
      <table dir="auto">
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} style={style(index)}>
                {inline(cell.tokens, links)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} style={style(index)}>
                  {inline(cell.tokens, links)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined, links: Links): ReactNode {
  return tokens && withElements(tokens, (token) => span(token, links));
}

function span(token: Token, links: Links): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens, links)}</strong>;
    case "em":
      return <em>{inline(token.tokens, links)}</em>;
    case "del":
      return <del>{inline(token.tokens, links)}</del>;
    case "codespan": {
      const { text } = token as Tokens.Codespan;
      const path = pathIn(text);
      return path ? (
        <PathLink place={path}>
          <code>{text}</code>
        </PathLink>
      ) : (
        <code>{text}</code>
      );
    }
    case "br":
      return <br />;
    case "math":
      return formula(token as MathToken);
    case "link":
      return link(token as Tokens.Link, links);
    case "image":
      return image(token as Tokens.Image);
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, links) : decode(text);
    }
    case "escape":
      return decode((token as Tokens.Escape).text);
    default:
      return "raw" in token ? decode(String(token.raw)) : null;
  }
}

function link({ href, title, tokens, raw }: Tokens.Link, links: Links): ReactNode {
  if (href === FOOTNOTE && raw.startsWith("[^")) return <FootnoteLink label={raw.slice(2, -1)} />;
  const safe = safeHref(href);
  if (safe) {
    return (
      <a href={safe} title={title ? decode(title) : undefined} target="_blank" rel="noopener noreferrer">
        {inline(tokens, links)}
      </a>
    );
  }
  const path = pathIn(decode(href), true);
  return path ? <PathLink place={path}>{inline(tokens, links)}</PathLink> : inline(tokens, links);
}

/** The address line belongs to the client: a place in an answer is gone to by hand. */
function FootnoteLink({ label }: { label: string }) {
  return (
    <sup>
      <button
        type="button"
        className="link-button md-footnote-link"
        aria-label={`Footnote ${label}`}
        onClick={({ currentTarget }) => {
          const notes = currentTarget.closest(".md")?.querySelectorAll<HTMLElement>("[data-footnote]") ?? [];
          const note = [...notes].find(({ dataset }) => dataset.footnote === label.toLowerCase());
          note?.scrollIntoView({ block: "nearest" });
        }}
      >
        {label}
      </button>
    </sup>
  );
}

function formula({ source, isBlock }: MathToken): ReactNode {
  return (
    <Suspense fallback={<code>{source}</code>}>
      <MathView source={source} isBlock={isBlock} />
    </Suspense>
  );
}

/** A picture from elsewhere would tell elsewhere that it is looked at; one of the session's files tells nobody. */
function image({ href, text: said }: Tokens.Image): ReactNode {
  const text = decode(said);
  if (/^data:image\/(png|jpeg|gif|webp);/.test(href)) return <Picture src={href} alt={text} />;
  const safe = safeHref(href);
  const path = safe ? undefined : pathIn(decode(href), true)?.path;
  if (path) {
    return (
      <Suspense fallback={text}>
        <HostPicture path={path} alt={text} />
      </Suspense>
    );
  }
  if (!safe) return text;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer">
      {text || href}
    </a>
  );
}

function safeHref(href: string): string | undefined {
  const decoded = decode(href);
  return /^(https?:|mailto:)/i.test(decoded) ? decoded : undefined;
}
