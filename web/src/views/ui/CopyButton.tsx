import { useState } from "react";
import { copyText } from "../../lib/clipboard";
import { Icon } from "./Icon";

export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    void copyText(typeof text === "string" ? text : text()).then((isDone) => {
      setCopied(isDone);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <button type="button" className="icon-button small" onClick={copy} aria-label={isCopied ? "Copied" : label} title={label}>
      <Icon name={isCopied ? "check" : "copy"} />
    </button>
  );
}
