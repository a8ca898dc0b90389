// Checks a finding as a third party would, from the document alone: signatures of notes, inclusion and consistency
// proofs, and the signature of an entry. Written from log/FORMAT.md and the RFCs alone.

import assert from 'node:assert/strict';
import { holds, jcs } from './bytes.ts';
import type { Members } from './bytes.ts';
import { leafHash, rootOfInclusion, rootsOfConsistency } from './tree.ts';

export interface Entry {
  readonly index: number;
  readonly entry?: string;
  readonly entry_base64?: string;
  readonly leaf_hash?: string;
  readonly path?: readonly string[];
  readonly note?: number;
}

export interface Document {
  readonly rule: string;
  readonly proof: 'signed' | 'observed';
  readonly origin: string;
  readonly vkey: string;
  readonly notes: readonly string[];
  readonly vkeys?: readonly string[];
  readonly entries: readonly Entry[];
  readonly consistency?: {
    readonly from: number;
    readonly to: number;
    readonly from_root: string;
    readonly path: readonly string[];
  };
  readonly tile?: { readonly path: string; readonly served: string; readonly expected: string };
  readonly withheld?: readonly string[];
}

const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');

/** Size and root of a note after its log signature was verified. */
function open(note: string, vkey: string): { size: number; root: Buffer } {
  const at = note.indexOf('\n\n');
  const text = note.slice(0, at + 1);
  const [, name = '', material = ''] = /^([^+]+)\+[0-9a-f]{8}\+(.*)$/.exec(vkey) ?? [];
  const line = note
    .slice(at + 2)
    .split('\n')
    .find((one) => one.startsWith(`\u2014 ${name} `));
  const signature = bytes(line?.split(' ')[2] ?? '').subarray(4);
  assert.ok(holds(bytes(material).subarray(1), Buffer.from(text), signature), 'the note is signed');
  const [, size = '', root = ''] = text.split('\n');
  return { size: Number(size), root: bytes(root) };
}

/** Asserts that the key which the other entry declares has signed this entry. */
function checkSigned(entry: string, declared: string): void {
  const { signature, ...statement } = JSON.parse(entry) as Members & { signature: string };
  const { jwk, key } = JSON.parse(declared) as { jwk?: { x: string }; key?: { x: string } };
  const publicKey = Buffer.from((jwk ?? key)?.x ?? '', 'base64url');
  assert.ok(holds(publicKey, Buffer.from(jcs(statement)), bytes(signature)), 'it is signed');
}

/** Throws unless everything in the document that can be verified is valid. */
export function judge(document: Document): void {
  const { notes, vkeys, vkey, entries, consistency, proof } = document;
  assert.ok(notes.length > 0 && notes.every((note) => note.length > 0), 'the finding has the note');
  const keyOf = (i: number): string => vkeys?.[i] ?? vkey;
  const heads = notes.map((note, i) => {
    const own = keyOf(i);
    // With two logs, an older note may be of the other one; its verifier key begins with the name of its log.
    return note.startsWith(`${own.split('+', 1)[0] ?? ''}\n`) || notes.length === 1
      ? open(note, own)
      : null;
  });
  for (const { index, entry, entry_base64, leaf_hash, path, note } of entries) {
    if (path === undefined) continue;
    const head = heads[note ?? notes.length - 1];
    assert.ok(head !== null && head !== undefined, 'the finding has its note');
    const shown = entry_base64 !== undefined ? bytes(entry_base64) : Buffer.from(entry ?? '');
    const leaf = leaf_hash === undefined ? leafHash(shown) : Buffer.from(leaf_hash, 'hex');
    const root = rootOfInclusion(index, head.size, leaf, path.map(bytes));
    assert.ok(root?.equals(head.root), `the note commits to entry ${String(index)}`);
  }
  if (document.rule === 'two_entries' && proof === 'signed') {
    const [declared, stray, committed] = entries;
    assert.ok(declared?.path !== undefined && committed?.path !== undefined);
    checkSigned(stray?.entry ?? '', declared.entry ?? '');
    assert.notEqual(stray?.entry, committed.entry);
    assert.equal(stray?.index, committed.index);
  } else if (proof === 'signed' && entries.length > 0) {
    assert.ok(
      entries.every(({ path }) => path !== undefined),
      'every entry has an inclusion path',
    );
  }
  if (document.rule === 'inconsistent' && proof === 'signed') {
    assert.ok(consistency !== undefined, 'a fork has a consistency proof');
    const [older, newer] = heads;
    assert.ok(older && newer);
    assert.deepEqual([consistency.from, consistency.to], [older.size, newer.size]);
    const fromRoot = bytes(consistency.from_root);
    const { from, to } = consistency;
    const roots = rootsOfConsistency(from, to, fromRoot, consistency.path.map(bytes));
    assert.ok(
      roots?.from.equals(fromRoot) && roots.to.equals(newer.root),
      'the consistency proof is valid',
    );
    assert.ok(!fromRoot.equals(older.root), 'the older note has another root');
  }
  if (document.rule === 'two_roots') {
    const [one, other] = heads;
    assert.ok(one && other);
    assert.equal(one.size, other.size);
    assert.notDeepEqual(one.root, other.root);
  }
}
