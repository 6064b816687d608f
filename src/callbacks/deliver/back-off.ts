import { setTimeout as delay } from 'node:timers/promises'

const firstMs = 250
const lastMs = 10_000

/** Resolves after the time, or at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

/** Waits longer each time, a quarter of a second to ten, until something succeeds again. */
export class BackOff {
  private failures = 0

  succeeded(): void {
    this.failures = 0
  }

  wait(signal: AbortSignal): Promise<void> {
    return pause(Math.min(lastMs, firstMs * 2 ** this.failures++), signal)
  }
}
