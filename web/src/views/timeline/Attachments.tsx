import type { UiMessage } from "../../state/appState";
import { Icon } from "../ui/Icon";

export function Attachments({ message: { images, attachments } }: { message: UiMessage }) {
  if (!images && !attachments) return null;
  return (
    <div className="attachments">
      {images?.map((image, index) => (
        <a key={index} href={image.src} download={image.label} className="attachment-image">
          <img src={image.src} alt={image.label} />
        </a>
      ))}
      {attachments?.map((attachment, index) => (
        <span key={index} className="chip">
          <Icon name="file" /> {attachment.label}
        </span>
      ))}
    </div>
  );
}
