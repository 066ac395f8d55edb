import { useEffect, useState } from "react";

/** The time, every second while something is being timed. */
export function useNow(isTiming: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTiming) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isTiming]);
  return now;
}
