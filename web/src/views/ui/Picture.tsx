import { useState } from "react";
import { createPortal } from "react-dom";
import { Dialog } from "./Dialog";
import { Icon } from "./Icon";

/** A picture, as large as its place; a click shows all of it. */
export function Picture({ src, alt, className = "content-image" }: { src: string; alt: string; className?: string }) {
  const [isLarge, setLarge] = useState(false);
  const name = alt || "Picture";
  return (
    <>
      <button type="button" className="picture" aria-label={`Enlarge ${name}`} title={`Enlarge ${name}`} onClick={() => setLarge(true)}>
        <img className={className} src={src} alt={alt} />
      </button>
      {isLarge &&
        // A paragraph may hold a picture, and not a dialog.
        createPortal(
          <Dialog label={name} className="lightbox" onClose={() => setLarge(false)}>
            <img src={src} alt={alt} />
            <form method="dialog" className="lightbox-bar">
              <span>{name}</span>
              <a className="icon-button" href={src} download={alt || "picture"} aria-label="Download" title="Download">
                <Icon name="download" />
              </a>
              <button type="submit" className="icon-button" aria-label="Close" title="Close" data-first-focus>
                <Icon name="close" />
              </button>
            </form>
          </Dialog>,
          document.body,
        )}
    </>
  );
}
