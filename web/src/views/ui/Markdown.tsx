import { memo, useRef } from "react";
import { BlockSplitter } from "../../lib/markdown/blocks";
import type { Block, Group } from "../../lib/markdown/blocks";
import { mend } from "../../lib/markdown/mend";
import { renderMarkdown } from "../../lib/markdown/render";
import { CodeBlock } from "./CodeBlock";

/** From here on, blocks out of sight are not laid out. */
const MANY_GROUPS = 4;

/** Markdown that may still grow: finished blocks are rendered once. */
export const Markdown = memo(function Markdown({ text, isStreaming = false }: { text: string; isStreaming?: boolean }) {
  const splitter = useRef<BlockSplitter>(null);
  splitter.current ??= new BlockSplitter();
  const { groups, tail } = splitter.current.update(text);
  const isLong = groups.length >= MANY_GROUPS;
  return (
    <div className={isLong ? "md md-long" : "md"}>
      {groups.map((group) => (
        <BlockGroup key={group[0]?.start} blocks={group} />
      ))}
      {tail.map((block, index) => (
        <BlockView key={block.start} block={block} isUnfinished={isStreaming && index === tail.length - 1} />
      ))}
    </div>
  );
});

const BlockGroup = memo(function BlockGroup({ blocks }: { blocks: Group }) {
  return (
    <div className="md-group">
      {blocks.map((block) => (
        <BlockView key={block.start} block={block} isUnfinished={false} />
      ))}
    </div>
  );
});

const BlockView = memo(
  function BlockView({ block, isUnfinished }: { block: Block; isUnfinished: boolean }) {
    if (block.kind === "code") {
      return <CodeBlock source={block.source} language={block.language} isOpen={block.isOpen && isUnfinished} />;
    }
    return renderMarkdown(isUnfinished ? mend(block.source) : block.source);
  },
  (before, after) =>
    before.isUnfinished === after.isUnfinished &&
    before.block.source === after.block.source &&
    before.block.kind === after.block.kind &&
    (before.block.kind !== "code" || before.block.isOpen === (after.block as typeof before.block).isOpen),
);
