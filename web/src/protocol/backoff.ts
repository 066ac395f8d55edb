/** How long to wait before the next attempt: longer each time, never in step. */
export class Backoff {
  attempt = 0;

  constructor(private readonly random: () => number = Math.random) {}

  next(): number {
    const base = Math.min(10_000, 200 * 2 ** this.attempt++);
    return base * (0.5 + this.random() / 2);
  }

  reset(): void {
    this.attempt = 0;
  }
}
