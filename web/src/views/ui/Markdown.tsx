import { memo, useRef } from "react";
import { BlockSplitter } from "../../lib/markdown/blocks";
import type { Block, Group } from "../../lib/markdown/blocks";
import { mayRefer } from "../../lib/markdown/links";
import type { Links } from "../../lib/markdown/links";
import { mend } from "../../lib/markdown/mend";
import { renderMarkdown } from "../../lib/markdown/render";
import { hasLongWord } from "../../lib/text";
import { CodeBlock } from "./CodeBlock";

/** From here on, blocks out of sight are not laid out. */
const MANY_GROUPS = 4;

/** Markdown that may still grow: finished blocks are rendered once. */
export const Markdown = memo(function Markdown({ text, isStreaming = false }: { text: string; isStreaming?: boolean }) {
  const splitter = useRef<BlockSplitter>(null);
  splitter.current ??= new BlockSplitter();
  const { groups, tail, links } = splitter.current.update(text, !isStreaming);
  const isLong = groups.length >= MANY_GROUPS;
  return (
    <div className={`md${isLong ? " md-long" : ""}${hasLongWord(text) ? " unkerned" : ""}`}>
      {groups.map((group) => (
        <BlockGroup key={group[0]?.start} blocks={group} links={links} />
      ))}
      {tail.map((block, index) => (
        <BlockView key={block.start} block={block} links={links} isUnfinished={isStreaming && index === tail.length - 1} />
      ))}
    </div>
  );
});

const BlockGroup = memo(function BlockGroup({ blocks, links }: { blocks: Group; links: Links }) {
  return (
    <div className="md-group">
      {blocks.map((block) => (
        <BlockView key={block.start} block={block} links={links} isUnfinished={false} />
      ))}
    </div>
  );
});

const BlockView = memo(
  function BlockView({ block, links, isUnfinished }: { block: Block; links: Links; isUnfinished: boolean }) {
    if (block.kind === "code") {
      return <CodeBlock source={block.source} language={block.language} isOpen={block.isOpen && isUnfinished} />;
    }
    return renderMarkdown(isUnfinished ? mend(block.source) : block.source, links);
  },
  (before, after) =>
    before.isUnfinished === after.isUnfinished &&
    before.block.source === after.block.source &&
    before.block.kind === after.block.kind &&
    (before.links === after.links || !mayRefer(after.block.source)) &&
    (before.block.kind !== "code" || before.block.isOpen === (after.block as typeof before.block).isOpen),
);
