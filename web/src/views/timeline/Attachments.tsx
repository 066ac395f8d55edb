import type { UiMessage } from "../../state/appState";
import { iconOf, standsIn } from "../../state/attachments";
import { Icon } from "../ui/Icon";
import { Picture } from "../ui/Picture";

export function Attachments({ message: { text, images, attachments = [] } }: { message: UiMessage }) {
  const apart = attachments.filter((attachment) => !standsIn(text, attachment));
  if (!images && apart.length === 0) return null;
  return (
    <div className="attachments">
      {images?.map((image, index) => (
        <Picture key={index} src={image.src} alt={image.label} />
      ))}
      {apart.map((attachment, index) => (
        <span key={index} className="chip">
          <Icon name={iconOf(attachment)} /> {attachment.label}
        </span>
      ))}
    </div>
  );
}
