// Which key is used for what, over all logs that are followed: a receipt key is no checkpoint key, and live and
// sandbox share none. log/FORMAT.md §2

import { native, parseVkey, toHex } from '../../log/index.ts';
import type { Kind } from '../../log/index.ts';
import { publicKeyOfJwk } from '../../log/operate.ts';
import { Finding, type ShownEntry } from './finding.ts';
import type { Follower } from './follower.ts';

/** One use of a key. */
interface Use {
  readonly kind: Kind;
  readonly follower: Follower;
  /** Index of the entry that declares a receipt key; null for the checkpoint key. */
  readonly index: number | null;
}

/** The keys of the logs of one service. */
export class KeyUses {
  readonly #uses = new Map<string, Use[]>();
  readonly #onReuse: (log: Follower, text: string) => void;

  /** `onReuse` is called with a key that a successor continues to use, which is allowed. */
  constructor(onReuse: (log: Follower, text: string) => void = () => undefined) {
    this.#onReuse = onReuse;
  }

  /**
   * Takes the keys that a log has declared so far.
   *
   * @throws Finding `key_shared`
   */
  async take(kind: Kind, follower: Follower): Promise<void> {
    const checkpoint = parseVkey(native, follower.vkey).publicKey;
    await this.#add(toHex(checkpoint), { kind, follower, index: null });
    for (const { jwk, since_index } of follower.keys()) {
      await this.#add(toHex(publicKeyOfJwk(jwk)), { kind, follower, index: since_index });
    }
  }

  async #add(key: string, use: Use): Promise<void> {
    const uses = this.#uses.get(key) ?? [];
    if (uses.some((other) => same(other, use))) return;
    const conflict = uses.find(
      (other) => other.kind !== use.kind || (other.index === null) !== (use.index === null),
    );
    if (conflict !== undefined) throw await shared(conflict, use);
    if (uses.length > 0)
      this.#onReuse(use.follower, `goes on with ${purposeOf(use)} of an older log`);
    this.#uses.set(key, [...uses, use]);
  }
}

async function shared(one: Use, other: Use): Promise<Finding> {
  const detail =
    `${purposeOf(one)} of ${one.follower.origin} is also ` +
    `${purposeOf(other)} of ${other.follower.origin}`;
  const entries: ShownEntry[] = [];
  for (const [note, { follower, index }] of [one, other].entries()) {
    if (index !== null) entries.push({ ...(await follower.entry(index)), note });
  }
  // A log of which no checkpoint was checked has signed nothing that this could show.
  const ends = [one, other].flatMap(({ follower }) => {
    const end = follower.end();
    return end === null ? [] : [end];
  });
  const proven = ends.length === 2 && entries.every(({ path }) => path !== undefined);
  return new Finding('key_shared', detail, proven ? 'signed' : 'observed', {
    notes: ends.map(({ note }) => note),
    vkeys: ends.map(({ vkey }) => vkey),
    entries,
  });
}

/** The same log may be opened anew, so it is known by its origin. */
const same = (a: Use, b: Use): boolean =>
  a.follower.origin === b.follower.origin && a.index === b.index;

const purposeOf = ({ index }: Use): string =>
  index === null ? 'the checkpoint key' : `the receipt key of entry ${String(index)}`;
