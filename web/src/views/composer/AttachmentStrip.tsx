import type { MessageAttachment } from "../../protocol/types";
import { iconOf } from "../../state/attachments";
import { Icon } from "../ui/Icon";

interface Props {
  attachments: readonly MessageAttachment[];
  onRemove: (at: number) => void;
}

/** Chips for what is attached, but for commands and the like: those go with their word in the text. */
export function AttachmentStrip({ attachments, onRemove }: Props) {
  if (attachments.every(({ type }) => type === "simple")) return null;
  return (
    <ul className="attachment-strip" aria-label="Attachments">
      {attachments.map((attachment, index) => attachment.type === "simple" ? null : (
        <li key={index} className="chip">
          {attachment.type === "embeddedResource" && attachment.contentType.startsWith("image/") ? (
            <img src={`data:${attachment.contentType};base64,${attachment.data}`} alt="" />
          ) : (
            <Icon name={iconOf(attachment)} />
          )}
          {attachment.label}
          <button type="button" className="icon-button small" aria-label={`Remove ${attachment.label}`} onClick={() => onRemove(index)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
