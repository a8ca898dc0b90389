// Applies signed entries to a core. restore copies entries from a mirror to a database that has lost them; fsck derives
// the rows of a database a second time, to compare them. A replay must have checked the entries before.

import type { Core } from '../write/core.ts';
import { native } from '../crypto/native.ts';
import { seqOf } from '../write/clock.ts';
import type { Entry } from '../write/integrate.ts';
import { skey } from '../map/key.ts';
import { applyCore, type Moved } from '../write/placing.ts';
import { project } from '../write/projection.ts';
import { leafHashOf, readEntry } from '../write/statement.ts';
import type { Link, Sequenced } from '../types.ts';

/** Applies the next entry to the core: its position, and the rows of the core and the plugins, as part of a round. */
export function applySigned(core: Core, entry: Uint8Array, round: number): Entry {
  const bytes = Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength);
  const text = bytes.toString('utf8');
  const { statement, signature } = readEntry(text);
  const links = (statement['links'] as unknown as readonly Link[] | undefined) ?? [];
  const sequenced: Sequenced = {
    index: statement['index'] as number,
    entry_id: statement['entry_id'] as string,
    issued_at_ms: statement['issued_at_ms'] as number,
    type: statement['type'] as string,
    statement,
    links,
  };
  advance(core, sequenced);
  applyCore(core, sequenced, round);
  project(core, sequenced, round);
  return {
    appended: {
      ...sequenced,
      signature,
      text,
      leaf_hash: leafHashOf(bytes),
      disclosures: {},
    },
    bytes,
    moved: links.map((link) => movedBy(core.origin, link)),
  };
}

/** Sets the position of the core to the one after an entry. */
function advance(core: Core, { index, entry_id, issued_at_ms, type }: Sequenced): void {
  const { map_head, closed } = core.position;
  core.position = {
    size: index + 1,
    last_ms: issued_at_ms,
    last_seq: seqOf(entry_id),
    map_head: type === 'log.map_head.v1' ? { index, ms: issued_at_ms } : map_head,
    closed: closed || type === 'log.closed.v1',
  };
}

function movedBy(origin: string, link: Link): Moved {
  const place = skey(native, origin, link.key);
  const id = Buffer.from(place.buffer, place.byteOffset, 32).toString('latin1');
  return { skey: place, id, link };
}
