import { useCallback, useEffect, useRef, useState } from "react";
import type { RefObject } from "react";

/** This close to the end counts as being there. */
const NEAR = 48;

/**
 * Follows the end of a scrolled list while the reader is there. Reading
 * upwards leaves it; coming back to the end takes it up again.
 */
export function useFollow(scroller: RefObject<HTMLElement | null>) {
  const [isFollowing, setFollowing] = useState(true);
  const follows = useRef(true);
  const lastTop = useRef(0);

  const set = useCallback((next: boolean) => {
    follows.current = next;
    setFollowing(next);
  }, []);

  const onScroll = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR;
    // New text below moves the end away; only the reader moves up.
    if (isNear) set(true);
    else if (scrollTop < lastTop.current - 1) set(false);
    lastTop.current = scrollTop;
  }, [scroller, set]);

  const stick = useCallback(() => {
    const element = scroller.current;
    if (!element || !follows.current) return;
    element.scrollTop = element.scrollHeight;
    lastTop.current = element.scrollTop;
  }, [scroller]);

  const toEnd = useCallback(() => {
    set(true);
    stick();
  }, [set, stick]);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(stick);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [scroller, stick]);

  return { isFollowing, onScroll, toEnd };
}
