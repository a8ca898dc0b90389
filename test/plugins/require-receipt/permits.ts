// A log with a gate for tests: it issues valid permits for any action, and permits with exactly one fault.

import { native } from '../../../log/crypto/native.ts';
import { toHex, utf8 } from '../../../log/encoding/bytes.ts';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { leafHash } from '../../../log/merkle/hash.ts';
import { formatVkey } from '../../../log/note/note.ts';
import { actionRefOf } from '../../../plugins/require-receipt/action.ts';
import type { Action, Preimage } from '../../../plugins/require-receipt/action.ts';
import { encodePresented } from '../../../plugins/require-receipt/header.ts';
import type { Presented } from '../../../plugins/require-receipt/header.ts';
import { CHECKPOINT_KEY, Forge, RECEIPT_KEY, TENANT } from '../../support/forge.ts';
import type { Bend } from '../../support/forge.ts';

/** The fault of a permit. */
export interface Bent extends Bend {
  readonly type?: string;
  readonly outcome?: string;
  readonly preimage?: Partial<Preimage>;
  /** Without the checkpoint and the inclusion proof. */
  readonly unproven?: boolean;
}

/** A log with a gate, by the kind of log. */
export class GateLog {
  readonly #forge: Forge;

  constructor(kind: 'live' | 'sandbox' = 'live') {
    this.#forge = new Forge(`log.example/log/${kind}/1`).open().tenant();
    for (const version of ['v1', 'v2']) {
      this.#forge.declare(`gate.decision.${version}`, { type: 'object' });
    }
  }

  get origin(): string {
    return this.#forge.origin;
  }

  get vkey(): string {
    return formatVkey(native, this.origin, 1, CHECKPOINT_KEY.publicKey);
  }

  /** The time of the newest entry. */
  get ms(): number {
    return this.#forge.ms;
  }

  /** The JWKS as actlog serves it, with additional members of the key. */
  jwks(more: JsonObject = {}): JsonObject {
    const { kty, crv, x } = RECEIPT_KEY.jwk;
    const { origin } = this;
    const { kid } = RECEIPT_KEY;
    const key = { kty, crv, x, kid, use: 'sig', alg: 'EdDSA', origin, nbf: 0, ...more };
    return { keys: [key] };
  }

  /** A permit for the action, as its agent holds it. */
  permit(
    { action_type, action_hash }: Pick<Action, 'action_type' | 'action_hash'>,
    bent: Bent = {},
  ): Presented {
    const preimage: Preimage = {
      action_type,
      agent_id: 'agent-7',
      scope: action_hash,
      timestamp_ms: 1_790_000_000_000,
      ...bent.preimage,
    };
    const { type = 'gate.decision.v3', outcome = 'PERMIT', ...bend } = bent;
    const members = { tenant_ref: TENANT, outcome, action_ref: actionRefOf(preimage) };
    const index = this.#forge.size;
    const text = this.#forge.add(type, members, bend);
    this.#forge.mapHead({ after_ms: 1 });
    const { origin } = this;
    const proof =
      bent.unproven === true
        ? {}
        : { checkpoint: this.#forge.note(), inclusion_proof: this.#forge.path(index) };
    const receipt: JsonObject = {
      ...(JSON.parse(text) as JsonObject),
      entry_hash: toHex(leafHash(native, utf8(text))),
      permalink: 'https://log.example/r/1',
      verify_url: 'https://log.example/verify?entry_id=1',
      log: { origin, index, ...proof },
    };
    return { receipt, preimage };
  }

  /** The same as the value of X-Receipt. */
  header(action: Pick<Action, 'action_type' | 'action_hash'>, bent: Bent = {}): string {
    return encodePresented(this.permit(action, bent));
  }
}

/** A permit with changed members of its receipt, which the signature no longer covers. */
export const altered = (
  { receipt, ...more }: Presented,
  change: Readonly<Record<string, Json>>,
): Presented => ({
  receipt: { ...receipt, ...change },
  ...more,
});
