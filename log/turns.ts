// Serialises read-then-write operations, so that two callers cannot both pass the same check.

/**
 * Operations with the same name run one after the other, in the order of the calls. Other operations run concurrently.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs an operation after the previous one has settled. */
  run<T>(operation: () => Promise<T>, name = ''): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const result = before.then(operation);
    const settled = result
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(name) === settled) this.#last.delete(name);
      });
    this.#last.set(name, settled);
    return result;
  }

  /** Waits for every operation that was passed so far. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
