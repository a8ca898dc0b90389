// Simulated witnesses (C2SP tlog-witness): each cosigns a checkpoint only if it is consistent with the last one that it
// cosigned. A log that offers two roots for one size, or a smaller tree, is found here.

import { native } from '../../log/crypto/native.ts';
import { equal, toHex } from '../../log/encoding/bytes.ts';
import { EMPTY_ROOT } from '../../log/merkle/hash.ts';
import { checkConsistency } from '../../log/merkle/check.ts';
import { openCheckpoint } from '../../log/note/checkpoint.ts';
import { signCosignature } from '../../log/note/note.ts';
import type { Cosign, CosignedNote, Offer } from '../../log/index.ts';
import { seededSigner } from '../log/note/seeded-signer.ts';
import { Broken, Process, world } from './world/world.ts';
import type { Latency } from './world/world.ts';

const NETWORK: Latency = { from_us: 300, to_us: 20_000, slow: 0.02 };

interface Seen {
  size: number;
  root: Uint8Array;
}

type Signer = ReturnType<typeof seededSigner>;

/** Made once, because OpenSSL takes a millisecond for each. */
const signers: Signer[] = [];
const signerOf = (nth: number): Signer => (signers[nth] ??= seededSigner(90 + nth));

class Witness {
  readonly name: string;
  up = true;
  readonly #signer: Signer;
  readonly #seen = new Map<string, Seen>();

  constructor(nth: number) {
    this.name = `witness${String(nth)}.example`;
    this.#signer = signerOf(nth);
  }

  seen(origin: string): Seen {
    let seen = this.#seen.get(origin);
    if (seen === undefined) this.#seen.set(origin, (seen = { size: 0, root: EMPTY_ROOT }));
    return seen;
  }

  /** The line of its cosignature; null if it saw another checkpoint since the path was made. */
  cosign(offer: Offer, from: number, path: readonly Uint8Array[]): string | null {
    const { origin, vkey, note } = offer;
    const { size, root } = openCheckpoint(native, note, { origin, vkey });
    const seen = this.seen(origin);
    if (size === seen.size && !equal(root, seen.root)) {
      throw new Broken('two roots', `${origin} offers another root of size ${String(size)}`);
    }
    if (seen.size !== from) return null;
    try {
      checkConsistency(native, { from, to: size, fromRoot: seen.root, toRoot: root, path });
    } catch (error) {
      throw new Broken(
        'inconsistent',
        `${origin} offers size ${String(size)}, root ${toHex(root)}, after size ${String(from)}: ${String(error)}`,
      );
    }
    seen.size = size;
    seen.root = root;
    const text = note.slice(0, note.indexOf('\n\n') + 1);
    return signCosignature(
      native,
      this.#signer,
      this.name,
      text,
      Math.floor(world().wall_ms / 1000),
    );
  }
}

export class Witnesses {
  readonly #all: readonly Witness[];
  readonly #quorum: number;
  readonly #network = new Process('network');

  constructor(count: number, quorum: number) {
    this.#all = Array.from({ length: count }, (_, i) => new Witness(i));
    this.#quorum = quorum;
  }

  set(nth: number, up: boolean): void {
    const witness = this.#all[nth];
    if (witness !== undefined) witness.up = up;
  }

  heal(): void {
    for (const witness of this.#all) witness.up = true;
  }

  /** Asks all of them; each request and each answer may take long or be lost. */
  readonly cosign: Cosign = async (offer) => {
    const lines = await Promise.all(this.#all.map((witness) => this.#ask(witness, offer)));
    const given = lines.filter((line) => line !== null);
    if (given.length < this.#quorum) return null;
    const cosigned: CosignedNote = {
      note: offer.note + given.join(''),
      cosignatures: given.length,
    };
    return cosigned;
  };

  #ask(witness: Witness, offer: Offer): Promise<string | null> {
    const room = world();
    const { size } = witness.seen(offer.origin);
    if (size > offer.size) {
      throw new Broken(
        'rollback',
        `size ${String(offer.size)} is offered, a witness has seen ${String(size)}`,
      );
    }
    const path = offer.consistency(size);
    const asking = room.current;
    // A slow disk does not slow the network.
    const delay = (): number => room.duration(NETWORK) / room.slowness;
    return new Promise((resolve) => {
      const answer = (line: string | null): void => {
        room.after(delay(), () => resolve(line), asking);
      };
      room.after(
        delay(),
        () => {
          const lost = !witness.up || room.random('network').chance(0.03);
          // The witness may sign although its answer is lost.
          const line =
            lost && room.random('network').chance(0.5) ? null : witness.cosign(offer, size, path);
          answer(lost ? null : line);
        },
        this.#network,
      );
    });
  }
}
