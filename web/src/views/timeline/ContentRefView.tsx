// Content that stays on the host until somebody wants to see it.

import { useState } from "react";
import { useHost } from "../../app/context";
import { read } from "../../app/resources";
import type { Content } from "../../app/resources";
import { messageOf } from "../../app/sessions";
import type { ContentRef } from "../../protocol/types";
import { nameOf } from "../../protocol/uri";
import { LongText } from "../ui/LongText";
import { Icon } from "../ui/Icon";
import { Picture } from "../ui/Picture";
import { Skeleton } from "../ui/Skeleton";

const LOADING = "Loading…";

export function ContentRefView({ content: { uri, sizeHint, contentType } }: { content: ContentRef }) {
  const host = useHost();
  const [shown, setShown] = useState<Content | string>();
  const isImage = contentType?.startsWith("image/");
  const show = () => {
    setShown(LOADING);
    read(host, uri, isImage ? "base64" : "utf-8").then(setShown, (error: unknown) => setShown(messageOf(error)));
  };
  if (shown === undefined) {
    return (
      <button type="button" className="button content-ref" onClick={show}>
        <Icon name={isImage ? "image" : "file"} /> Show {contentType ?? nameOf(uri)}
        {sizeHint !== undefined && <small>{size(sizeHint)}</small>}
      </button>
    );
  }
  if (shown === LOADING) return <Skeleton shape="lines" />;
  if (typeof shown === "string") return <p className="muted">{shown}</p>;
  if (isImage && shown.base64) return <Picture src={`data:${contentType};base64,${shown.base64}`} alt={nameOf(uri)} />;
  return <LongText text={shown.text} />;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}
