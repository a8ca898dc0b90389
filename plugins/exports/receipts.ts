// COSE receipts of published trees. RFC 9942; log/FORMAT.md §5. The COSE key signs only roots of published checkpoints,
// and one signature serves every receipt under that root.

import {
  algOf,
  consistencyHeader,
  coseThumbprint,
  encodeSign1,
  ENTRY_LABEL,
  inclusionHeader,
  native,
  receiptHeader,
  toBeSigned,
} from '../contract/index.ts';
import type { LogView, PluginHost, PluginSigner } from '../contract/index.ts';

interface SignedRoot {
  readonly size: number;
  readonly kid: string;
  readonly signature: Promise<Uint8Array>;
}

/** Makes receipts. Signatures of the newest roots are cached. */
export class Receipts {
  readonly #host: PluginHost;
  readonly #signed = new Map<string, SignedRoot>();

  constructor(host: PluginHost) {
    this.#host = host;
  }

  /** A receipt that an entry is in the tree of a published size. With `entry`, the receipt includes the text. */
  async inclusion(log: LogView, index: number, size: number, entry?: string): Promise<Uint8Array> {
    const path = log.inclusion(index, size);
    const unprotected = new Map(inclusionHeader({ size, index, path }));
    if (entry !== undefined) unprotected.set(ENTRY_LABEL, Buffer.from(entry));
    return this.#receipt(log, size, unprotected);
  }

  /** A receipt that the tree of one published size is consistent with that of a smaller one. */
  async consistency(log: LogView, from: number, to: number): Promise<Uint8Array> {
    return this.#receipt(log, to, consistencyHeader({ from, to, path: log.consistency(from, to) }));
  }

  async #receipt(
    log: LogView,
    size: number,
    unprotected: ReturnType<typeof inclusionHeader>,
  ): Promise<Uint8Array> {
    const [signer] = this.#host.signers(log.kind, 'cose');
    const protectedBytes = this.#header(log, signer);
    const signature = await this.#signature(log, size, signer, protectedBytes);
    return encodeSign1({ protectedBytes, unprotected, payload: null, signature });
  }

  #signature(
    log: LogView,
    size: number,
    signer: PluginSigner,
    protectedBytes: Uint8Array,
  ): Promise<Uint8Array> {
    const known = this.#signed.get(log.origin);
    if (known?.size === size && known.kid === signer.kid) return known.signature;
    const signature = signer.sign(toBeSigned(protectedBytes, log.rootAt(size)));
    this.#signed.set(log.origin, { size, kid: signer.kid, signature });
    return signature;
  }

  #header(log: LogView, { jwk }: PluginSigner): Uint8Array {
    const kid = coseThumbprint(native, jwk);
    return receiptHeader({ alg: algOf(jwk), kid, iss: this.#host.url(''), sub: log.origin });
  }
}
