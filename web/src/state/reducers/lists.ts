// Small helpers that leave their argument alone and return it unchanged when
// there is nothing to do, so that `===` tells whether something happened.

export function upsert<T>(list: readonly T[] | undefined, item: T, same: (known: T) => boolean): T[] {
  const next = list ? [...list] : [];
  const at = next.findIndex(same);
  if (at < 0) next.push(item);
  else next[at] = item;
  return next;
}

export function without<T>(list: T[] | undefined, matches: (item: T) => boolean): T[] | undefined {
  const at = list?.findIndex(matches) ?? -1;
  return at < 0 || !list ? list : [...list.slice(0, at), ...list.slice(at + 1)];
}

export function replaceAt<T>(list: readonly T[], at: number, item: T): T[] {
  const next = [...list];
  next[at] = item;
  return next;
}

/** Sets a field, or removes it: absent and undefined are the same on the wire. */
export function withField<T extends object, K extends keyof T>(state: T, key: K, value: T[K] | undefined): T {
  const next = { ...state };
  if (value === undefined) delete next[key];
  else next[key] = value;
  return next;
}
