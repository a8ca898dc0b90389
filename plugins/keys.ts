// Keys that plugins sign with, for formats of others that no receipt key may sign. gateway/API.md §2.2.

import type { CosePublicJwk, KeyAlgorithm } from '../log/index.ts';

/** A signing key that a plugin declares: each kind of log gets its own, in a file of its own. */
export interface KeyDeclaration {
  /** `air`; names the key to the plugin, and its purpose to the world. */
  readonly name: string;
  readonly algorithm: KeyAlgorithm;
  /** Whether /crypto/jwks.json lists it, with its `purpose`. */
  readonly jwks: boolean;
}

/** One key of a plugin, private part inside. */
export interface PluginSigner {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly jwk: CosePublicJwk;
  /** 64 bytes: Ed25519, or r and s of ES256. Off the event loop. */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
  /** Of many short messages at once, in their order, for less than each alone would cost. */
  signAll(messages: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
}
