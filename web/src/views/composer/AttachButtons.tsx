import { isTouch } from "../../lib/device";
import { Icon } from "../ui/Icon";

/** Files from this device; on a phone also from its camera. */
export function AttachButtons({ onFiles }: { onFiles: (files: File[]) => void }) {
  const take = (event: React.ChangeEvent<HTMLInputElement>) => {
    onFiles([...(event.target.files ?? [])]);
    event.target.value = "";
  };
  return (
    <>
      <label className="icon-button" title="Attach files">
        <Icon name="attach" />
        <input type="file" multiple className="sr-only" aria-label="Attach files" onChange={take} />
      </label>
      {isTouch() && (
        <label className="icon-button" title="Take a picture">
          <Icon name="camera" />
          <input type="file" accept="image/*" capture="environment" className="sr-only" aria-label="Take a picture" onChange={take} />
        </label>
      )}
    </>
  );
}
