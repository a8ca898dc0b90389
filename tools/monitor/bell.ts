// A pause that can be cut short: by a signal, or because there is something to look at.

/** Pauses of one loop. */
export class Bell {
  #wake: () => void = () => undefined;

  /** Ends the current pause, if there is one. */
  readonly ring = (): void => {
    this.#wake();
  };

  /** Until the time is over, somebody rings or the signal ends it. */
  pause(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#wake = () => undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
      this.#wake = end;
    });
  }
}
