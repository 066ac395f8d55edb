// A picture in an answer that lies among the session's files. It is read only
// from the session's own directories: a text must not make the page ask for
// anything else. It is read when it comes into sight, one after the other, and
// as long as all of them together stay small enough for the page's memory;
// what is not shown is a link.

import { useEffect, useRef, useState } from "react";
import { useApp, useHost } from "../../app/context";
import type { Host } from "../../app/host";
import { about, read } from "../../app/resources";
import type { URI } from "../../protocol/types";
import { candidatesFor, isPicture, isWithin } from "../../state/files";
import { PathLink } from "./PathLink";
import { Picture } from "./Picture";

const MOST_BYTES = 8 * 1024 * 1024;
/** Of all pictures that are on the page, in characters of base64. */
const MOST_HELD = 64 * 1024 * 1024;
const NEAR = "400px";
const NONE: readonly string[] = [];

let held = 0;
let queue: Promise<void> = Promise.resolve();

/** What was shown lately: it is there at once when the reader comes back to it, and read again. */
const shownLately = new Map<string, string>();
const MOST_SHOWN = 12;
const MOST_REMEMBERED = 2_000_000;

function remember(where: string, src: string): void {
  shownLately.delete(where);
  if (src.length > MOST_REMEMBERED) return;
  shownLately.set(where, src);
  if (shownLately.size > MOST_SHOWN) shownLately.delete(shownLately.keys().next().value ?? "");
}

/** The first of some files that is there, as the address of a picture. */
async function load(host: Host, candidates: readonly URI[]): Promise<string | undefined> {
  for (const uri of candidates) {
    const { size = 0 } = await about(host, uri).catch(() => ({ size: Infinity }));
    if (size > MOST_BYTES || held + (size * 4) / 3 > MOST_HELD) continue;
    const content = await read(host, uri, "base64").catch(() => undefined);
    if (!content?.base64) continue;
    const type = content.contentType?.startsWith("image/") ? content.contentType : "image/png";
    return `data:${type};base64,${content.base64}`;
  }
  return undefined;
}

export default function HostPicture({ path, alt }: { path: string; alt: string }) {
  const host = useHost();
  const place = useRef<HTMLSpanElement>(null);
  const directories = useApp((state) => state.session?.workingDirectories) ?? NONE;
  const where = candidatesFor(path, directories)
    .filter((uri) => isPicture(uri) && directories.some((directory) => isWithin(directory, uri)))
    .join("\n");
  const [shown, setShown] = useState<{ of: string; src: string }>();
  useEffect(() => {
    let isCurrent = true;
    let own = 0;
    const look = async () => {
      const src = isCurrent ? await load(host, where.split("\n").filter(Boolean)) : undefined;
      if (!src || !isCurrent) return;
      own = src.length;
      held += own;
      remember(where, src);
      setShown({ of: where, src });
    };
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        queue = queue.then(look);
      },
      { rootMargin: NEAR },
    );
    if (place.current) observer.observe(place.current);
    return () => {
      isCurrent = false;
      observer.disconnect();
      held -= own;
    };
  }, [host, where]);
  const src = shown?.of === where ? shown.src : shownLately.get(where);
  return <span ref={place}>{src ? <Picture src={src} alt={alt || path} /> : <PathLink place={{ path }}>{alt || path}</PathLink>}</span>;
}
