// /export/offline-verify-kit.json: made once, committed to in the live log, and served until what it says
// changes or it is an hour old. gateway/API.md §2.2 (a document that did not change is not committed twice), §2.5.

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

/** A checkpoint makes every kit another document, so age alone renews it no more often than this. */
const RENEW_MS = 3_600_000;
/** Attached row of the live log: survives restarts, and stands in the batch of the kit's entry. */
const ROW = 'kit/document';

const Kit = Type.Object(
  {
    schema: Type.Literal('svc-offline-verify-kit-v1'),
    generated_at: Type.String({ format: 'date-time' }),
    issuer: Type.String(),
    keys: Jwks,
    cose_keys: Type.Object(
      { keys: Type.Array(PurposeJwk) },
      { description: 'Keys of COSE receipts; none of them signs anything else.' },
    ),
    logs: Type.Array(Type.Object({ origin: Type.String(), vkey: Type.String(), checkpoint: Note })),
    witnesses: Type.Array(Type.String(), { description: 'Verifier keys of cosigners.' }),
    policy: Type.String({
      description: 'C2SP tlog-policy; whoever takes it from here trusts the operator for it.',
    }),
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

/** A kit that the entry at an index of a log commits to. */
interface Committed {
  readonly foundation: string;
  readonly generated_at_ms: number;
  readonly index: number;
  readonly document: JsonObject;
}

/** The same with its log. */
interface Found extends Committed {
  readonly log: Log;
}

/** The kit; the verifier that it names is one of the static files. */
export function kitRoutes(gateway: Gateway): readonly Route[] {
  const shelf = new KitShelf(gateway, gateway.statics.get('verify.js') ?? null);
  const kit = route({
    method: 'GET',
    path: '/export/offline-verify-kit.json',
    tag: 'Crypto',
    summary: 'Everything that verifying offline takes',
    access: 'read',
    responses: {
      200: { description: 'The kit.', schema: Kit },
      304: { description: 'As before.' },
    },
    errors: ['log_unavailable'],
    async handle(ctx) {
      const { bytes, etag } = await shelf.current();
      ctx.set('Cache-Control', 'no-cache');
      sendBytes(ctx, bytes, 'application/json', etag);
    },
  });
  return [kit];
}

/** The answer as it goes out. */
interface KitAnswer {
  readonly bytes: Buffer;
  readonly etag: string;
  /** Whether it has the place of its entry under a checkpoint. */
  readonly placed: boolean;
}

/** Codes of a log that cannot commit to a new kit: the one before is served then. */
const NO_ENTRIES: ReadonlySet<string> = new Set([
  ...['log_unavailable', 'log_closed', 'log_busy', 'clock_untrusted'],
]);

/**
 * Holds the newest kit; requests that come while one is made share it. The kit has every log with a checkpoint, so
 * that a log that waits for its witnesses keeps nobody from verifying the others.
 */
class KitShelf {
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

  /** The newest one of the live logs. */
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
    // One without a place is completed once a checkpoint covers its entry; until then nobody waits for it again.
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
