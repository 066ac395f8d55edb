// The client's own small set of line icons, on a grid of 16.

const PATHS = {
  add: "M8 3v10M3 8h10",
  archive: "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3",
  arrowDown: "M8 3v10M4 9l4 4 4-4",
  arrowUp: "M8 13V3M4 7l4-4 4 4",
  back: "M10 3 5 8l5 5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.5 14h3",
  branch: "M5 3.5v9M5 9c0-3 6-1 6-4M3.5 3.5h3M3.5 12.5h3M9.5 4.5h3",
  check: "M3 8.5 6.5 12 13 4.5",
  chevron: "M6 3l5 5-5 5",
  clock: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 5v3l2 2",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  diff: "M8 3v6M5 6h6M5 12h6",
  edit: "M10.5 3 13 5.5 6 12.5l-3 .5.5-3z",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  fold: "M3 3.5h10M3 12.5h10M5.5 7 8 9.5 10.5 7",
  folder: "M2 4h4l1.5 1.5H14v7H2z",
  image: "M2.5 3h11v10h-11zM2.5 11l3.5-3.5 3 3 1.5-1.5 3 3M10.5 6h.01",
  inbox: "M2.5 9 4.5 3h7l2 6v4h-11zM2.5 9H6l1 1.5h2L10 9h3.5",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  more: "M3.5 8.7a.7.7 0 1 0 0-1.4.7.7 0 0 0 0 1.4zM8 8.7a.7.7 0 1 0 0-1.4.7.7 0 0 0 0 1.4zM12.5 8.7a.7.7 0 1 0 0-1.4.7.7 0 0 0 0 1.4z",
  play: "M5 3.5v9l7-4.5z",
  people: "M6 7.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM2 13c0-2.5 1.8-4 4-4s4 1.5 4 4M10.5 7.5a2 2 0 1 0-.8-3.8M11.5 9c1.6.4 2.5 1.8 2.5 4",
  question: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.5-1.1.9-1.1 1.8M8 12.5h.01",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5v3h-3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
  send: "M3 8h9M8.5 4 12.5 8l-4 4",
  settings: "M3 4.5h6M12 4.5h1M3 8h1M7 8h6M3 11.5h5M11 11.5h2M10.5 3v3M5.5 6.5v3M9.5 10v3",
  sparkle: "M8 2.5 9.4 6.6 13.5 8 9.4 9.4 8 13.5 6.6 9.4 2.5 8l4.1-1.4z",
  stop: "M4.5 4.5h7v7h-7z",
  terminal: "M2.5 3h11v10h-11zM5 6l2 2-2 2M8.5 10.5h2.5",
  tool: "M10.5 2.8a3 3 0 0 0-3.6 3.9L3 10.6 5.4 13l3.9-3.9a3 3 0 0 0 3.9-3.6L11.3 7.2 9 6.9 8.8 4.7z",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9",
  undo: "M3 6h6.5a3.5 3.5 0 0 1 0 7H6M6 3 3 6l3 3",
  warning: "M8 2.5 14 13H2zM8 6.5V9.5M8 11.3h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
