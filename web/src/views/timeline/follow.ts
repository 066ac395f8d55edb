// Following the end of the conversation. It is left by a gesture of the reader
// and by nothing else: content that shrinks or is measured again moves the
// page too, and means nothing.

import { useCallback, useEffect, useRef, useState } from "react";
import type { RefObject } from "react";

/** This close to the end counts as being there. */
const NEAR = 48;
/** Keys that move the view, or the focus and the view with it. */
const MOVING = new Set(["ArrowUp", "PageUp", "Home", "Tab", " "]);

export function useFollow(scroller: RefObject<HTMLElement | null>, isAtEnd = true) {
  const [isFollowing, setFollowing] = useState(isAtEnd);
  const follows = useRef(isAtEnd);
  const lastTop = useRef(0);
  /** The reader holds the scroll bar or a key that moves the view. */
  const isHeld = useRef(false);

  const set = useCallback((next: boolean) => {
    follows.current = next;
    setFollowing(next);
  }, []);

  const stick = useCallback(() => {
    const element = scroller.current;
    if (!element || !follows.current) return;
    element.scrollTop = element.scrollHeight;
    lastTop.current = element.scrollTop;
  }, [scroller]);

  const onScroll = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const gap = scrollHeight - scrollTop - clientHeight;
    const isUp = scrollTop < lastTop.current - 1;
    lastTop.current = scrollTop;
    if (follows.current && isUp && isHeld.current) set(false);
    // Whoever comes down to the end follows it again.
    else if (!follows.current && !isUp && gap < NEAR) set(true);
    else if (follows.current && gap >= 1) stick();
  }, [scroller, set, stick]);

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

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    // The browser may have scrolled before it tells.
    const canGoUp = () => Math.max(element.scrollTop, lastTop.current) > 0;
    let touchedAt = 0;
    const gestures = {
      wheel: (event: WheelEvent) => {
        if (event.deltaY < 0 && !event.ctrlKey && canGoUp() && !scrollsInside(event.target, element)) set(false);
      },
      touchstart: (event: TouchEvent) => {
        touchedAt = event.touches[0]?.clientY ?? 0;
      },
      touchmove: (event: TouchEvent) => {
        const isDown = (event.touches[0]?.clientY ?? 0) > touchedAt;
        if (isDown && canGoUp() && !scrollsInside(event.target, element)) set(false);
      },
      keydown: (event: KeyboardEvent) => {
        if (MOVING.has(event.key)) isHeld.current = true;
      },
      pointerdown: (event: PointerEvent) => {
        // Beside the content of the element there is only its scroll bar.
        if (event.target === element && event.offsetX >= element.clientWidth) isHeld.current = true;
      },
    };
    const letGo = () => {
      isHeld.current = false;
    };
    const moved = (event: PointerEvent) => {
      if (event.buttons === 0) letGo();
    };
    for (const [name, listener] of Object.entries(gestures)) element.addEventListener(name, listener as EventListener, { passive: true });
    addEventListener("keyup", letGo);
    addEventListener("pointerup", letGo);
    addEventListener("pointermove", moved);
    return () => {
      for (const [name, listener] of Object.entries(gestures)) element.removeEventListener(name, listener as EventListener);
      removeEventListener("keyup", letGo);
      removeEventListener("pointerup", letGo);
      removeEventListener("pointermove", moved);
    };
  }, [scroller, set]);

  const leave = useCallback(() => set(false), [set]);

  return { isFollowing, onScroll, toEnd, leave };
}

/** Whether something within the conversation takes the gesture: output, code, a difference. */
function scrollsInside(target: EventTarget | null, outer: HTMLElement): boolean {
  for (let at = target instanceof Element ? target : null; at && at !== outer; at = at.parentElement) {
    if (at.scrollTop > 0) return true;
  }
  return false;
}
