// /export/offline-verify-kit.json. An entry of the live log commits to each kit, so a kit is served again until one of
// its keys, logs or policies changes, or it is an hour old. gateway/API.md §2.2, §2.5.

import { Type } from 'typebox';
import { isLogError } from '../../log/index.ts';
import type { JsonObject, Log } from '../../log/index.ts';
import { ApiError, EntryReceipt, route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import type { StaticFile } from '../pages/statics.ts';
import { documentHash, KIT_TYPE, kitDocument, KitReceipt, kitFoundation } from './kit-document.ts';
import { publishedLogs } from './keys.ts';
import { placeOf } from './receipt-answer.ts';
import { Jwks, Note, PurposeJwk } from './schemas.ts';
import { sendBytes } from './send.ts';

/** The age after which a new kit is made although only its checkpoints have changed. */
const RENEW_MS = 3_600_000;
/** Attached row of the live log that holds the newest kit. It commits with the kit's entry. */
const ROW = 'kit/document';

const Kit = Type.Object(
  {
    schema: Type.Literal('svc-offline-verify-kit-v1'),
    generated_at: Type.String({ format: 'date-time' }),
    issuer: Type.String(),
    keys: Jwks,
    cose_keys: Type.Object(
      { keys: Type.Array(PurposeJwk) },
      {
        description:
          'Keys of COSE messages, by purpose: receipts (`cose`) and AIR statements (`air`). Each kid is the RFC 9679 ' +
          'thumbprint that messages have in label 4.',
      },
    ),
    logs: Type.Array(
      Type.Object({
        origin: Type.String(),
        vkey: Type.String(),
        vkey_ml_dsa: Type.Optional(
          Type.String({
            description: 'Its ML-DSA-44 key, if checkpoints have a second signature.',
          }),
        ),
        checkpoint: Note,
        policy: Type.String({
          description:
            'C2SP tlog-policy of this log alone; a verifier that takes it from here trusts the operator for it.',
        }),
        kinds: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
          description:
            'Chain kinds that the entry types of the log declare, with their numbers of members.',
        }),
      }),
    ),
    witnesses: Type.Array(Type.String(), { description: 'Verifier keys of cosigners.' }),
    algorithms: Type.Record(Type.String(), Type.String()),
    verify_steps: Type.Array(Type.String()),
    vectors: Type.Array(
      Type.Object({
        receipt: EntryReceipt,
        tlog_proof: Type.String(),
        tampered: Type.Optional(Type.String({ description: 'The member that was changed.' })),
        expected: Type.Boolean(),
      }),
    ),
    export_vectors: Type.Array(
      Type.Object({
        name: Type.String({ description: '`air`, `cose statement` or `cose receipt`.' }),
        air: Type.Optional(Type.Unknown({ description: 'As /export/scitt/air/{entry_id}.json.' })),
        cose_b64: Type.Optional(Type.String({ description: 'A COSE_Sign1.' })),
        tampered: Type.Optional(Type.String({ description: 'What was changed.' })),
        expected: Type.Boolean(),
      }),
      { description: 'Messages in COSE and AIR.' },
    ),
    verifier: Type.Union([
      Type.Object({
        language: Type.String(),
        sha256: Type.String(),
        url: Type.String({ format: 'uri' }),
      }),
      Type.Null(),
    ]),
    receipt: KitReceipt,
  },
  {
    $id: 'OfflineVerifyKit',
    description:
      '`receipt` is of the entry kit.document.v1 whose document_sha256 is SHA-256 of the RFC 8785 form of ' +
      'the kit without `receipt`.',
  },
);

/** A kit, and the index of the entry that commits to it. */
interface Committed {
  readonly foundation: string;
  readonly generated_at_ms: number;
  readonly index: number;
  readonly document: JsonObject;
}

/** A kit, its entry's index and log. */
interface Found extends Committed {
  readonly log: Log;
}

/** The route of the kit. */
export function kitRoutes(gateway: Gateway): readonly Route[] {
  const kit = route({
    method: 'GET',
    path: '/export/offline-verify-kit.json',
    tag: 'Crypto',
    summary: 'Everything that offline verification needs',
    access: 'read',
    responses: {
      200: { description: 'The kit.', schema: Kit },
      304: { description: 'As before.' },
    },
    errors: ['log_unavailable'],
    async handle(ctx) {
      const { bytes, etag } = await gateway.kit();
      ctx.set('Cache-Control', 'no-cache');
      sendBytes(ctx, bytes, 'application/json', etag);
    },
  });
  return [kit];
}

/** The serialised answer. */
interface KitAnswer {
  readonly bytes: Buffer;
  readonly etag: string;
  /** Whether the receipt shows the inclusion proof of its entry. */
  readonly placed: boolean;
}

/** Errors of a log that takes no entries. The previous kit is served then. */
const NO_ENTRIES: ReadonlySet<string> = new Set([
  ...['log_unavailable', 'log_read_only', 'log_closed', 'log_busy', 'clock_untrusted'],
]);

/**
 * Caches the newest kit. Concurrent requests share one that is being made. The kit leaves out logs without a checkpoint,
 * so that a log that waits for its witnesses does not prevent the verification of the others.
 */
export class KitCache {
  readonly #gateway: Gateway;
  readonly #verifier: StaticFile | null;
  #committed: Found | null = null;
  #answer: KitAnswer | null = null;
  #making: Promise<KitAnswer> | null = null;

  constructor(gateway: Gateway, verifier: StaticFile | null) {
    this.#gateway = gateway;
    this.#verifier = verifier;
  }

  current(): Promise<KitAnswer> {
    this.#making ??= this.#current().finally(() => {
      this.#making = null;
    });
    return this.#making;
  }

  async #current(): Promise<KitAnswer> {
    if (publishedLogs(this.#gateway).length === 0) {
      throw new ApiError(
        'log_unavailable',
        'no log has a checkpoint yet: their witnesses are missing',
      );
    }
    const foundation = kitFoundation(this.#gateway, this.#verifier);
    const text = JSON.stringify(foundation);
    this.#committed ??= this.#stored();
    const known = this.#committed;
    const age = known === null ? 0 : this.#gateway.now() - known.generated_at_ms;
    if (known?.foundation === text && Math.abs(age) < RENEW_MS) return this.#answerOf(known);
    try {
      this.#committed = await this.#commit(foundation, text);
    } catch (error) {
      if (!isLogError(error) || !NO_ENTRIES.has(error.code) || known === null) {
        throw error;
      }
      return this.#answerOf(known);
    }
    this.#answer = null;
    return this.#answerOf(this.#committed);
  }

  /** The newest kit in the database of a live log. */
  #stored(): Found | null {
    for (const log of this.#gateway.served.live.toReversed()) {
      const row = log.attached(ROW);
      if (row !== undefined)
        return { ...(JSON.parse(Buffer.from(row).toString()) as Committed), log };
    }
    return null;
  }

  async #commit(foundation: JsonObject, text: string): Promise<Found> {
    const log = this.#gateway.logs.live;
    const document = await kitDocument(this.#gateway, foundation);
    const generated_at_ms = this.#gateway.now();
    const kit = { foundation: text, generated_at_ms, document };
    const members = { document_sha256: documentHash(document) };
    const [entry] = await log.append([{ type: KIT_TYPE, members }], {
      attach: ([placed]) => {
        if (placed === undefined) throw new Error('the kit has one entry');
        return [{ key: ROW, value: Buffer.from(JSON.stringify({ ...kit, index: placed.index })) }];
      },
    });
    if (entry === undefined) throw new Error('the kit has one entry');
    return { ...kit, index: entry.index, log };
  }

  async #answerOf({ document, index, log }: Found): Promise<KitAnswer> {
    const known = this.#answer;
    // An answer without a proof is made again when a checkpoint covers the entry. Until then it is served from the cache.
    if (known !== null && (known.placed || log.published().size <= index)) return known;
    const receipt = this.#gateway.receipt(log, index);
    if (receipt === null) throw new Error(`the kit's entry ${String(index)} has no receipt`);
    const place = log.published().size === 0 ? null : await placeOf(log, index);
    const shown = place === null ? {} : { log: { origin: log.origin, index, ...place } };
    const bytes = Buffer.from(JSON.stringify({ ...document, receipt: { ...receipt, ...shown } }));
    const name = `${String(log.number)}.${String(index)}`;
    const placed = place !== null;
    this.#answer = { bytes, etag: `"kit.${name}.${placed ? '1' : '0'}"`, placed };
    return this.#answer;
  }
}
