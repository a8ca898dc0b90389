// Streams the records of a session as one JSON document: all entries of the session's chain under one checkpoint, with
// the proof that none is left out. gateway/API.md §12.3, §12.4; log/FORMAT.md §3, §6.

import { Readable } from 'node:stream';
import { countOf, toBase64 } from '../../contract/index.ts';
import type { ChainKey, JsonObject, LogView, PluginHost, Published } from '../../contract/index.ts';
import type { Receipts } from '../receipts.ts';
import type { AirChains, PlacedRecord } from './chains.ts';
import { integrityText } from './record.ts';
import { airStatement } from './statement.ts';

/** Number of pages that are processed at once: one is signed in a worker thread while the next is read. */
const PAGES_SIGNING = 2;
/** Signed statements made in one step; other requests are served between the steps. */
const PROOFS_AT_ONCE = 6;

/** The dependencies of a batch. */
export interface AirService {
  readonly host: PluginHost;
  readonly chains: AirChains;
  readonly receipts: Receipts;
}

/** A session at a published checkpoint. */
interface SessionChain {
  readonly key: ChainKey;
  readonly session_ref: string;
  readonly count: number;
  readonly size: number;
  readonly checkpoint: string;
  /** An absence document (log/FORMAT.md §6) whose proof states how many entries the chain has. */
  readonly completeness_proof: JsonObject;
}

/** Reads the chain of a session under a publication. */
export async function sessionChain(
  log: LogView,
  session_ref: string,
  { size, note, map_head_ms }: Published,
): Promise<SessionChain> {
  const key: ChainKey = ['session', session_ref];
  // A window of one millisecond is enough: its proof states the length of the whole chain.
  const document = await log.lookup({ key, from_ms: map_head_ms, to_ms: map_head_ms });
  const count = countOf(document, key);
  return { key, session_ref, count, size, checkpoint: note, completeness_proof: document };
}

/** The batch as a stream of JSON text. `proofs` adds the inclusion proof and signed statement of each entry. */
export function sessionBatch(
  service: AirService,
  log: LogView,
  session: SessionChain,
  proofs: boolean,
): Readable {
  return Readable.from(batchText(service, log, session, proofs));
}

async function* batchText(
  service: AirService,
  log: LogView,
  session: SessionChain,
  proofs: boolean,
): AsyncGenerator<string> {
  const { session_ref, count, size, checkpoint, completeness_proof } = session;
  const [signer] = service.host.signers(log.kind, 'air');
  const head = {
    schema: 'svc-air-session-v1',
    spec: 'air-1.0',
    origin: log.origin,
    session_ref,
    agent_id: `session:${session_ref}`,
    count,
    size,
    checkpoint,
    completeness_proof,
    key: { ...signer.jwk, kid: signer.kid, alg: 'ES256', use: 'sig' },
  };
  yield `${JSON.stringify(head).slice(0, -1)},"records":[`;
  let separator = '';
  const signing: Promise<string>[] = [];
  for await (const page of service.chains.pages(log, session_ref, count)) {
    const next = pageText(service, log, page, proofs ? size : null);
    next.catch(() => undefined); // who awaits it below hears of it; a reader who left does not
    signing.push(next);
    if (signing.length < PAGES_SIGNING) continue;
    yield separator + ((await signing.shift()) ?? '');
    separator = ',';
  }
  for (const page of signing) {
    yield separator + (await page);
    separator = ',';
  }
  yield ']}';
}

async function pageText(
  service: AirService,
  log: LogView,
  page: readonly PlacedRecord[],
  size: number | null,
): Promise<string> {
  const [signer] = service.host.signers(log.kind, 'air');
  const signatures = await signer.signAll(page.map(({ place }) => place.chain_hash));
  const items = page.map((placed, i) => {
    const record = recordText(placed, signatures[i] ?? new Uint8Array(0));
    return `{"record":${record},"entry":${JSON.stringify(placed.entry)}`;
  });
  if (size === null) return `${items.join('},')}}`;
  const proofs: string[] = [];
  for (let from = 0; from < page.length; from += PROOFS_AT_ONCE) {
    const some = page.slice(from, from + PROOFS_AT_ONCE);
    proofs.push(...(await Promise.all(some.map((one) => proofText(service, log, one, size)))));
  }
  return items.map((item, i) => `${item},${proofs[i] ?? ''}}`).join(',');
}

async function proofText(
  { host, receipts }: AirService,
  log: LogView,
  placed: PlacedRecord,
  size: number,
): Promise<string> {
  const [signer] = host.signers(log.kind, 'air');
  const receipt = await receipts.inclusion(log, placed.index, size, placed.entry);
  const cose = await airStatement(placed, { signer, iss: host.url(''), receipt });
  const path = log.inclusion(placed.index, size).map(toBase64);
  return `"inclusion_proof":${JSON.stringify(path)},"cose_sign1_b64":"${toBase64(cose)}"`;
}

/** The complete record as JSON: its canonical form with `integrity` as the last member. */
export const recordText = ({ canonical, place }: PlacedRecord, signature: Uint8Array): string =>
  `${canonical.slice(0, -1)},"integrity":${integrityText(place, signature)}}`;
