// What happened, said in a corner. What went wrong stays until somebody has
// read it; the rest goes by itself.

import { useEffect } from "react";
import { useApp, useHost } from "../app/context";
import type { Notice } from "../state/appState";
import { Icon } from "./ui/Icon";
import { Ticked } from "./ui/Ticked";

const SHOWN_MS = 8_000;

export function Notices() {
  const notices = useApp((state) => state.notices);
  return (
    <div className="notices" role="region" aria-label="Notices" aria-live="polite">
      {notices.map((notice) => (
        <NoticeCard key={notice.id} notice={notice} />
      ))}
    </div>
  );
}

function NoticeCard({ notice }: { notice: Notice }) {
  const { store } = useHost();
  const { id, tone, text, action, times = 1 } = notice;
  const isError = tone === "error";
  useEffect(() => {
    if (isError) return;
    const timer = setTimeout(() => store.dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [store, id, isError, times]);
  return (
    <div className={`notice ${tone}`} role={isError ? "alert" : undefined}>
      <Icon name={isError ? "warning" : "info"} />
      <div className="notice-body">
        <span>
          <Ticked text={text} />
        </span>
        {times > 1 && <span className="badge">{times}×</span>}
        {action && "href" in action && (
          <a className="link-button" href={action.href} onClick={() => store.dismiss(id)}>
            {action.label}
          </a>
        )}
        {action && "run" in action && (
          <button type="button" className="link-button" onClick={action.run}>
            {action.label}
          </button>
        )}
      </div>
      <button type="button" className="icon-button small" aria-label="Dismiss" onClick={() => store.dismiss(id)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
