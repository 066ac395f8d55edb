// A formula as MathML. The library reads TeX and makes a tree; of that tree only
// elements of MathML are made, with the attributes that lay formulas out.

import { createElement, memo, useMemo } from "react";
import type { ReactNode } from "react";
import temml from "temml";
import "../../styles/math.css";

interface MathNode {
  type?: string;
  attributes?: Record<string, string>;
  classes?: string[];
  style?: Record<string, string>;
  children?: MathNode[];
  text?: string;
}

/** Beyond this it is a text and not a formula. */
const LONGEST = 10_000;

const ELEMENTS = new Set(
  "math semantics mrow mi mo mn ms mtext mspace mfrac msqrt mroot mstyle merror mpadded mphantom menclose msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd".split(" "),
);
const ATTRIBUTES = new Set(
  "display mathvariant stretchy fence separator lspace rspace symmetric maxsize minsize largeop movablelimits accent accentunder linethickness width height depth voffset displaystyle scriptlevel columnalign rowspacing columnspacing columnlines rowlines notation form".split(" "),
);
const STYLES = new Set(["mathVariant", "padding", "paddingLeft", "paddingRight", "paddingTop", "paddingBottom", "textAlign", "fontWeight", "fontStyle", "border", "borderTop", "borderBottom", "borderLeft", "borderRight", "marginLeft", "marginRight", "verticalAlign", "mathStyle", "mathDepth", "width"]);

const OPTIONS = { throwOnError: true, strict: false, trust: false, maxSize: [10, 20], maxExpand: 300, annotate: false } as const;

export default memo(function MathView({ source, isBlock }: { source: string; isBlock: boolean }) {
  const shown = useMemo(() => treeOf(source, isBlock), [source, isBlock]);
  if (!shown) return <code>{source}</code>;
  return <span className={isBlock ? "math-block" : "math-inline"}>{element(shown, 0)}</span>;
});

function treeOf(source: string, isBlock: boolean): MathNode | undefined {
  if (source.length > LONGEST) return undefined;
  try {
    const { __renderToMathMLTree: read } = temml as unknown as { __renderToMathMLTree: (tex: string, options: object) => MathNode };
    return read(source, { ...OPTIONS, displayMode: isBlock });
  } catch {
    return undefined;
  }
}

function element(node: MathNode, key: number): ReactNode {
  if (node.text !== undefined && !node.type) return node.text;
  const children = (node.children ?? []).map(element);
  // Fragments of the tree have no name.
  if (!node.type || !ELEMENTS.has(node.type)) return children;
  const attributes = Object.fromEntries(Object.entries(node.attributes ?? {}).filter(([name]) => ATTRIBUTES.has(name)));
  const style = Object.fromEntries(Object.entries(node.style ?? {}).filter(([name]) => STYLES.has(name)));
  return createElement(node.type, { ...attributes, key, style, className: node.classes?.join(" ") || undefined }, ...(children.length ? children : []));
}
