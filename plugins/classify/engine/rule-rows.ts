// How rules stand in rows of numbers: a text asks for dozens of them, and as objects they would lie all over the memory.

/** Numbers of each entry: what refuses it most often comes first. */
export const ROW = 8;
/** The bits of the first thing it needs, see `Needs`. */
export const WORD_BITS = 0;
export const CLASS_BITS = 1;
/** 1 when its window is the neighbourhood. */
export const NEIGHBOURS = 2;
/** The round in which it was tried last. */
export const SEEN = 3;
/** The number of its rule. */
export const RULE = 4;
/** Where its needs and its steps are filed. */
export const NEEDS = 5;
export const STEPS = 6;

/** Appends lists of entries to `lists`; gives where each is, by key. */
export function fileLists(
  filed: ReadonlyMap<number, readonly number[]>,
  size: number,
  lists: number[],
): Int32Array {
  const at = new Int32Array(size);
  for (const [key, list] of filed) {
    at[key] = lists.push(list.length) - 1;
    lists.push(...list.map((entry) => entry * ROW));
  }
  return at;
}
