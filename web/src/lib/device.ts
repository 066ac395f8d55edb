/** Where there is room for one thing at a time, as the style sheet says it. */
export const PHONE = "(max-width: 44rem)";

/** Whether the keyboard is probably on the screen. */
export function isTouch(): boolean {
  return matchMedia("(pointer: coarse) and (hover: none)").matches;
}
