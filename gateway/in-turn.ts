// Acts that look before they write: one ends before the next one looks.

/** Runs an act after those that were given before it, however they ended. */
export type InTurn = <T>(act: () => Promise<T>) => Promise<T>;

/** A line of its own: acts of two lines do not wait for each other. */
export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const mine = last.then(act);
    last = mine.catch(() => undefined);
    return mine;
  };
}
