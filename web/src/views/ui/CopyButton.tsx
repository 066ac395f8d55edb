import { useState } from "react";
import { Icon } from "./Icon";

export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(typeof text === "string" ? text : text()).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <button type="button" className="icon-button small" onClick={copy} aria-label={isCopied ? "Copied" : label} title={label}>
      <Icon name={isCopied ? "check" : "copy"} />
    </button>
  );
}
