import { useRef } from "react";
import { isTouch } from "../../lib/device";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { filesOfFolder } from "./attach";

interface Props {
  onFiles: (files: File[]) => void;
  /** Shows the files of the session, each of which can be attached there. */
  onBrowse?: () => void;
}

/** What can be attached: files and folders of this device, and those of the session. */
export function AttachButtons({ onFiles, onBrowse }: Props) {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const camera = useRef<HTMLInputElement>(null);
  const take = (event: React.ChangeEvent<HTMLInputElement>) => {
    const picked = [...(event.target.files ?? [])];
    onFiles(event.target === folder.current ? filesOfFolder(picked) : picked);
    event.target.value = "";
  };
  return (
    <>
      <Menu
        label="Attach"
        items={[
          { label: "Files…", icon: "attach", run: () => files.current?.click() },
          // Phones have a camera, and no folders to choose.
          isTouch() ? { label: "Take a picture…", icon: "camera", run: () => camera.current?.click() } : { label: "Folder…", icon: "folder", run: () => folder.current?.click() },
          ...(onBrowse ? [{ label: "From the session’s files…", icon: "file" as const, run: onBrowse }] : []),
        ]}
      >
        <Icon name="attach" />
      </Menu>
      <input ref={files} type="file" multiple hidden aria-label="Attach files" onChange={take} />
      <input ref={folder} type="file" hidden aria-label="Attach a folder" {...{ webkitdirectory: "" }} onChange={take} />
      <input ref={camera} type="file" accept="image/*" capture="environment" hidden aria-label="Take a picture" onChange={take} />
    </>
  );
}
