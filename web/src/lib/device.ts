/** Whether the keyboard is probably on the screen. */
export function isTouch(): boolean {
  return matchMedia("(pointer: coarse) and (hover: none)").matches;
}
