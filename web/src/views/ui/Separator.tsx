// A line between two parts of the page that can be moved: by pointer, and by
// arrow keys. A double click puts it back.

import { useRef } from "react";

interface Props {
  label: string;
  /** The width of what it belongs to, in pixels. */
  width: number;
  least: number;
  most: number;
  usual: number;
  /** On which side of it that is. */
  side: "left" | "right";
  onMove: (width: number) => void;
}

const STEP = 16;

export function Separator({ label, width, least, most, usual, side, onMove }: Props) {
  const start = useRef<{ x: number; width: number }>(null);
  const direction = side === "left" ? 1 : -1;
  const move = (next: number) => onMove(Math.round(Math.min(most, Math.max(least, next))));
  const onKeyDown = (event: React.KeyboardEvent) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (by !== undefined) move(width + by * direction);
    else if (event.key === "Home") move(least);
    else if (event.key === "End") move(most);
    else if (event.key === "Enter") move(usual);
    else return;
    event.preventDefault();
  };
  return (
    <div
      className={`separator separator-${side}`}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onDoubleClick={() => move(usual)}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width };
      }}
      onPointerMove={({ clientX }) => {
        if (start.current) move(start.current.width + (clientX - start.current.x) * direction);
      }}
      onPointerUp={() => (start.current = null)}
      onPointerCancel={() => (start.current = null)}
    />
  );
}
