/**
 * Runs `flush` before the next frame, once for any number of calls. A hidden
 * page has no frames, and must still notice that a session needs somebody.
 */
export function frameScheduler(): (flush: () => void) => void {
  let scheduled = false;
  return (flush) => {
    if (scheduled) return;
    scheduled = true;
    const run = () => {
      if (!scheduled) return;
      scheduled = false;
      flush();
    };
    if (typeof document === "undefined" || document.hidden) setTimeout(run, 50);
    else {
      requestAnimationFrame(run);
      // The page may be hidden before the frame comes.
      setTimeout(run, 250);
    }
  };
}
