import type { MessageAttachment } from "../../protocol/types";
import { Icon } from "../ui/Icon";

export function AttachmentStrip({ attachments, onRemove }: { attachments: readonly MessageAttachment[]; onRemove: (at: number) => void }) {
  if (attachments.length === 0) return null;
  return (
    <ul className="attachment-strip" aria-label="Attachments">
      {attachments.map((attachment, index) => (
        <li key={index} className="chip">
          {attachment.type === "embeddedResource" && attachment.contentType.startsWith("image/") ? (
            <img src={`data:${attachment.contentType};base64,${attachment.data}`} alt="" />
          ) : (
            <Icon name="file" />
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
