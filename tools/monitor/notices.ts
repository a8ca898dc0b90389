// What a replay comes across and others want to know: heads that may be cosigned, entries that are watched.
// Kept back until the signatures behind it are checked.

import type { ChainKey } from '../../log/index.ts';
import type { Checkpoint, Replay, Replayed } from '../../log/operate.ts';
import type { Verified } from './verified.ts';
import { watchedIn, type Watched } from './watch.ts';

/** Who wants to know. */
export interface Interest {
  readonly verified?: Verified;
  readonly watch?: readonly ChainKey[];
  readonly onWatched?: (entry: Watched) => void;
}

/** The notices of one log. */
export class Notices {
  readonly #origin: string;
  readonly #interest: Interest;
  #heads: Checkpoint[] = [];
  #watched: Watched[] = [];

  constructor(origin: string, interest: Interest) {
    this.#origin = origin;
    this.#interest = interest;
  }

  /** A replay goes on where it rested: that far everything was checked. */
  rested(replay: Replay): void {
    if (replay.mapHead?.index === replay.size - 1)
      this.#interest.verified?.add([this.#head(replay)]);
  }

  /** An entry was taken. One that is not `fresh` was there at an earlier look. */
  took(replay: Replay, entry: Replayed, text: string, fresh: boolean): void {
    const { verified, watch = [] } = this.#interest;
    // Only with a map head can a size be published.
    if (verified !== undefined && entry.statement['type'] === 'log.map_head.v1') {
      this.#heads.push(this.#head(replay));
    }
    if (!fresh || watch.length === 0) return;
    const watched = watchedIn(watch, entry, text);
    if (watched !== null) this.#watched.push(watched);
  }

  /** Everything that was taken is checked. */
  checked(): void {
    this.#interest.verified?.add(this.#heads);
    for (const entry of this.#watched) this.#interest.onWatched?.(entry);
    this.dropped();
  }

  /** Something that was taken does not hold. */
  dropped(): void {
    this.#heads = [];
    this.#watched = [];
  }

  #head(replay: Replay): Checkpoint {
    return { origin: this.#origin, size: replay.size, root: replay.root() };
  }
}
