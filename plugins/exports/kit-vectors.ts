// Test vectors of COSE and AIR for the offline kit: messages of one entry that a verifier must accept, and changed
// copies that it must refuse. gateway/API.md §2.5, §12.3, §12.4; RFC 9052, RFC 9942.

import { decodeSign1, encodeSign1, fromBase64, toBase64 } from '../contract/index.ts';
import type { JsonObject, LogView } from '../contract/index.ts';
import { airExport } from './air/routes.ts';
import type { AirService } from './air/session.ts';

/** The vectors of an entry: `air` is a complete export, `cose_b64` a message, `tampered` names the changed member. */
export async function exportVectors(
  service: AirService,
  log: LogView,
  index: number,
): Promise<readonly JsonObject[]> {
  const air = await airExport(service, log, index);
  const record = air['record'] as JsonObject;
  const jurisdiction = record['jurisdiction'] === 'DE' ? 'FR' : 'DE';
  const statement = air['cose_sign1_b64'] as string;
  const { size } = await log.covering(index + 1);
  const entry = air['entry'] as string;
  const later = entry.replace('"issued_at_ms":', '"issued_at_ms":1');
  const receipt = toBase64(await service.receipts.inclusion(log, index, size, entry));
  const moved = toBase64(await service.receipts.inclusion(log, index, size, later));
  return [
    { name: 'air', air, expected: true },
    {
      ...{ name: 'air', air: { ...air, record: { ...record, jurisdiction } } },
      ...{ tampered: 'record.jurisdiction', expected: false },
    },
    { name: 'cose statement', cose_b64: statement, expected: true },
    {
      ...{ name: 'cose statement', cose_b64: otherSignature(statement) },
      ...{ tampered: 'signature', expected: false },
    },
    { name: 'cose receipt', cose_b64: receipt, expected: true },
    {
      ...{ name: 'cose receipt', cose_b64: otherSignature(receipt) },
      ...{ tampered: 'signature', expected: false },
    },
    { name: 'cose receipt', cose_b64: moved, tampered: 'entry.issued_at_ms', expected: false },
  ];
}

/** The message with the first byte of its signature changed. */
function otherSignature(message: string): string {
  const opened = decodeSign1(fromBase64(message));
  const signature = Uint8Array.from(opened.signature);
  signature[0] = (signature[0] ?? 0) ^ 1;
  return toBase64(encodeSign1({ ...opened, signature }));
}
