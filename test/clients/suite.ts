// The cryptographic suite of the server with a cache of verified signatures. A mutated document has most of its signatures
// in common with the document that it was made from, and verifying them is half of the work.

import { LRUCache } from 'lru-cache';
import { native } from '../../log/crypto/native.ts';
import type { Suite } from '../../log/crypto/suite.ts';

const verified = new LRUCache<string, boolean>({ max: 8192 });

/** `native`, whose answers are functions of the input alone. */
export const remembering: Suite = {
  sha256: (bytes, into) => native.sha256(bytes, into),
  verify(publicKey, message, signature) {
    const parts = [publicKey, signature, message].map((part) =>
      Buffer.from(part).toString('latin1'),
    );
    const asked = parts.join('\n');
    let holds = verified.get(asked);
    if (holds === undefined) {
      holds = native.verify(publicKey, message, signature);
      verified.set(asked, holds);
    }
    return holds;
  },
};
