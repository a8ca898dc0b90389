// Runs jobs at intervals while the gateway serves.

/**
 * Longest wait of one timer. Node.js fires a timer above 2^31 - 1 ms after 1 ms, so that longer waits are made of
 * several; an hour also keeps a job on time after the machine slept.
 */
const LONGEST_TIMER_MS = 3_600_000;

/** Runs a job now and then every so often, never twice at a time, until the signal. */
export async function every(
  clock: { uptimeMs(): number },
  every_ms: number,
  signal: AbortSignal,
  run: () => Promise<void>,
): Promise<void> {
  const stopped = (): boolean => signal.aborted;
  for (let due_ms = clock.uptimeMs(); !stopped();) {
    await run();
    // A run that took longer than the interval skips the times that passed meanwhile.
    const late_ms = clock.uptimeMs() - due_ms;
    due_ms += Math.max(1, Math.ceil(late_ms / every_ms)) * every_ms;
    while (!stopped() && clock.uptimeMs() < due_ms) {
      const left = Math.ceil(due_ms - clock.uptimeMs());
      await paused(Math.min(Math.max(1, left), LONGEST_TIMER_MS), signal);
    }
  }
}

/** Waits this long, or until the signal is aborted. */
export function paused(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const ended = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', ended);
      resolve();
    };
    const timer = setTimeout(ended, ms);
    signal.addEventListener('abort', ended);
  });
}
