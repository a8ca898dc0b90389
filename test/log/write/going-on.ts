// A log after a restart: it appends to chains and proves from the map as loaded.

import { native } from '../../../log/crypto/native.ts';
import { verifyAbsence } from '../../../log/verify.ts';
import { note } from './kept-log.ts';
import type { KeptLog } from './kept-log.ts';

/** Appends entries on existing and new chains. */
export const some = async (kept: KeptLog, count: number, chains = 40): Promise<void> => {
  await Promise.all(
    Array.from({ length: count }, (_, i) => kept.append(note(`case-${String((i * 7) % chains)}`))),
  );
};

/** Requests proofs for an existing and an unknown chain from the map as loaded. */
export async function proves(kept: KeptLog): Promise<void> {
  const { map_head_ms: to_ms } = kept.log.published();
  for (const name of ['case-7', 'nothing']) {
    const question = { key: ['gate.case', name], from_ms: 0, to_ms };
    const document = await kept.log.lookup(question);
    verifyAbsence(document, question, kept.trust(), {
      suite: native,
      now_ms: kept.time.wall(),
    });
  }
}

/** Requests proofs, appends and publishes after a restart. */
export async function goesOn(kept: KeptLog): Promise<void> {
  await proves(kept);
  await some(kept, 30);
  await kept.publish();
  await proves(kept);
}
