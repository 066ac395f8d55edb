// What a tool call produced, or is producing.

import { lazy, Suspense } from "react";
import { unwrapped, withoutFence } from "../../lib/output";
import type { ToolResultContent } from "../../protocol/types";
import type { ToolKind } from "../../state/toolKinds";
import { Icon } from "../ui/Icon";
import { LongText } from "../ui/LongText";
import { Picture } from "../ui/Picture";
import { Skeleton } from "../ui/Skeleton";
import { ContentRefView } from "./ContentRefView";
import { Subagent } from "./Subagent";

const FileEditView = lazy(() => import("../panes/FileEditView"));
const SignInTerminal = lazy(() => import("./SignInTerminal"));
const TerminalView = lazy(() => import("../panes/TerminalView"));

interface Props {
  items: ToolResultContent[];
  kind?: ToolKind;
  isLive?: boolean;
  /** The command of a sign-in, which waits for what one types. */
  isSignIn?: boolean;
}

export function ToolContent({ items, kind = "other", isLive = false, isSignIn = false }: Props) {
  return (
    <div className="tool-content">
      {items.map((item, index) => (
        <Item key={index} item={item} kind={kind} isLive={isLive} isSignIn={isSignIn} />
      ))}
    </div>
  );
}

function Item({ item, kind, isLive, isSignIn }: { item: ToolResultContent; kind: ToolKind; isLive: boolean; isSignIn: boolean }) {
  switch (item.type) {
    case "text":
      // Of a file its beginning is wanted, of what a command printed its end.
      return <LongText text={kind === "read" ? unwrapped(item.text) : withoutFence(item.text)} fromEnd={kind === "command"} isPrinted={kind !== "read"} />;
    case "embeddedResource":
      if (item.contentType.startsWith("image/")) {
        return <Picture src={`data:${item.contentType};base64,${item.data}`} alt="Result" />;
      }
      return <p className="muted">{item.contentType}</p>;
    case "resource":
      return <ContentRefView content={item} />;
    case "fileEdit":
      return (
        <Suspense fallback={<Skeleton shape="lines" label="Loading the change…" />}>
          <FileEditView edit={item} />
        </Suspense>
      );
    case "terminal":
      if (!isLive && item.result?.preview !== undefined) {
        return (
          <div className="terminal-result">
            {item.result.preview.trim() === "" ? <p className="muted">No output</p> : <LongText text={item.result.preview} fromEnd isPrinted />}
          </div>
        );
      }
      return (
        <Suspense fallback={<Skeleton shape="lines" label="Loading the terminal…" />}>
          {isSignIn && isLive ? <SignInTerminal resource={item.resource} title={item.title} /> : <TerminalView resource={item.resource} title={item.title} />}
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
