// Pages elsewhere that show something of the chat: links, and nothing more. They
// are foreign, so they open in a tab that knows nothing of this one.

import { useApp, useChannel } from "../../app/context";
import type { URI } from "../../protocol/types";
import { Icon } from "../ui/Icon";

export function Canvases() {
  const canvases = useApp((state) => state.chat?.canvases);
  if (!canvases?.length) return null;
  return (
    <section className="scheduled" aria-label="Pages">
      <header>Pages</header>
      <ul>
        {canvases.map(({ resource }) => (
          <Row key={resource} resource={resource} />
        ))}
      </ul>
    </section>
  );
}

function Row({ resource }: { resource: URI }) {
  const canvas = useChannel(resource, "canvas");
  if (!canvas) return null;
  const { title, canvasId, extensionName, extensionId, status, url } = canvas;
  const link = url && /^https?:\/\//i.test(url) ? url : undefined;
  return (
    <li>
      <Icon name="file" />
      <span className="scheduled-text">
        {title || canvasId} <span className="muted">· {extensionName || extensionId}</span>
        {status && <span className="muted"> · {status}</span>}
      </span>
      {link ? (
        <a className="link-button" href={link} target="_blank" rel="noopener noreferrer">
          Open
        </a>
      ) : (
        <span className="muted">Not available</span>
      )}
    </li>
  );
}
