// Markdown tokens as React nodes. Nothing here takes HTML as HTML, so there is
// nothing to sanitise: what is not one of these elements is text.

import { Fragment } from "react";
import type { ReactNode } from "react";
import { Lexer } from "marked";
import type { Token, Tokens } from "marked";
import { CodeBlock } from "../../views/ui/CodeBlock";
import { NO_LINKS } from "./links";
import type { Links } from "./links";
import { decode } from "./references";

/** `links` are those that other blocks of the text define. */
export function renderMarkdown(source: string, links: Links = NO_LINKS): ReactNode {
  const lexer = new Lexer();
  Object.assign(lexer.tokens.links, links);
  return blocks(lexer.lex(source));
}

function blocks(tokens: Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // The page has its own first heading.
      const Tag = `h${Math.min(6, depth + 1)}` as "h2";
      return <Tag className={`md-h${depth}`}>{inline(tokens)}</Tag>;
    }
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return <CodeBlock source={`${text}\n`} language={lang?.split(/\s+/)[0] ?? ""} />;
    }
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens) : decode(text);
    }
    case "html":
      return <p>{(token as Tokens.HTML).raw.trim()}</p>;
    default:
      return null;
  }
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const children = items.map((item, index) => (
    <li key={index} className={item.task ? "md-task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} readOnly disabled aria-label="done" />}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"))}
    </li>
  ));
  return ordered ? <ol start={typeof start === "number" ? start : undefined}>{children}</ol> : <ul>{children}</ul>;
}

function table({ header, rows, align }: Tokens.Table): ReactNode {
  const style = (index: number) => ({ textAlign: align[index] ?? undefined });
  return (
    <div className="md-table" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} style={style(index)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} style={style(index)}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{span(token)}</Fragment>);
}

function span(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, title, tokens } = token as Tokens.Link;
      const safe = safeHref(href);
      if (!safe) return inline(tokens);
      return (
        <a href={safe} title={title ? decode(title) : undefined} target="_blank" rel="noopener noreferrer">
          {inline(tokens)}
        </a>
      );
    }
    case "image": {
      // A picture from elsewhere would tell elsewhere that it is looked at.
      const { href } = token as Tokens.Image;
      const text = decode((token as Tokens.Image).text);
      const safe = safeHref(href);
      if (/^data:image\/(png|jpeg|gif|webp);/.test(href)) return <img src={href} alt={text} />;
      return safe ? (
        <a href={safe} target="_blank" rel="noopener noreferrer">
          {text || href}
        </a>
      ) : (
        text
      );
    }
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens) : decode(text);
    }
    case "escape":
      return decode((token as Tokens.Escape).text);
    default:
      return "raw" in token ? decode(String(token.raw)) : null;
  }
}

function safeHref(href: string): string | undefined {
  const decoded = decode(href);
  return /^(https?:|mailto:)/i.test(decoded) ? decoded : undefined;
}
