import type { UiMessage } from "../../state/appState";
import { iconOf, standsIn } from "../../state/attachments";
import { Icon } from "../ui/Icon";

export function Attachments({ message: { text, images, attachments = [] } }: { message: UiMessage }) {
  const apart = attachments.filter((attachment) => !standsIn(text, attachment));
  if (!images && apart.length === 0) return null;
  return (
    <div className="attachments">
      {images?.map((image, index) => (
        <a key={index} href={image.src} download={image.label} className="attachment-image">
          <img src={image.src} alt={image.label} />
        </a>
      ))}
      {apart.map((attachment, index) => (
        <span key={index} className="chip">
          <Icon name={iconOf(attachment)} /> {attachment.label}
        </span>
      ))}
    </div>
  );
}
