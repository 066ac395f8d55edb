/** Calls with the latest arguments once nobody has called for a while. */
export function debounced<Args extends unknown[]>(call: (...args: Args) => void, ms: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const cancel = () => clearTimeout(timer);
  const later = (...args: Args) => {
    cancel();
    timer = setTimeout(() => call(...args), ms);
  };
  return { later, cancel };
}
