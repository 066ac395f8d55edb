// What a tool call produced, or is producing.

import { lazy, Suspense } from "react";
import type { ToolResultContent } from "../../protocol/types";
import { Icon } from "../ui/Icon";
import { LongText } from "../ui/LongText";
import { ContentRefView } from "./ContentRefView";
import { Subagent } from "./Subagent";

const FileEditView = lazy(() => import("../panes/FileEditView"));
const TerminalView = lazy(() => import("../panes/TerminalView"));

export function ToolContent({ items, isLive = false }: { items: ToolResultContent[]; isLive?: boolean }) {
  return (
    <div className="tool-content">
      {items.map((item, index) => (
        <Item key={index} item={item} isLive={isLive} />
      ))}
    </div>
  );
}

function Item({ item, isLive }: { item: ToolResultContent; isLive: boolean }) {
  switch (item.type) {
    case "text":
      return <LongText text={item.text} />;
    case "embeddedResource":
      if (item.contentType.startsWith("image/")) {
        return <img className="content-image" src={`data:${item.contentType};base64,${item.data}`} alt="Result" />;
      }
      return <p className="muted">{item.contentType}</p>;
    case "resource":
      return <ContentRefView content={item} />;
    case "fileEdit":
      return (
        <Suspense fallback={<p className="muted">Loading the change…</p>}>
          <FileEditView edit={item} />
        </Suspense>
      );
    case "terminal":
      if (!isLive && item.result?.preview !== undefined) {
        return (
          <div className="terminal-result">
            <LongText text={stripAnsi(item.result.preview)} fromEnd />
            {item.result.exitCode !== undefined && (
              <span className={item.result.exitCode === 0 ? "badge ok" : "badge bad"}>exit {item.result.exitCode}</span>
            )}
          </div>
        );
      }
      return (
        <Suspense fallback={<p className="muted">Loading the terminal…</p>}>
          <TerminalView resource={item.resource} title={item.title} />
        </Suspense>
      );
    case "subagent":
      return <Subagent {...item} />;
    default:
      return (
        <p className="muted">
          <Icon name="file" /> Something that this client cannot show
        </p>
      );
  }
}

/** Colours and cursor movements, where only the text is shown. */
export function stripAnsi(text: string): string {
  return text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007]*(?:\u0007|\u001b\\)|\r(?=\n)/g, "");
}
