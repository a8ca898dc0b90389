// The members that the sequencer accepts from a caller, and those that only the log itself may set.

import assert from 'node:assert/strict';
import { LogError, readEntry } from '../../../log/index.ts';
import type { Draft, JsonObject } from '../../../log/index.ts';
import { code, note, TENANT, withLog } from './kept-log.ts';
import { act, LOOSE } from './placing-drafts.ts';

describe('placing: members', () => {
  for (const member of ['type', 'index', 'links', 'kid', 'toll', 'commitments', 'submitter']) {
    it(
      `refuses ${member} among the members of a draft`,
      withLog(async (kept) => {
        await assert.rejects(kept.append(note('a', { [member]: 'x' })), code('entry_invalid'));
      }),
    );
  }

  for (const member of ['signature', 'entry_hash', 'permalink', 'disclosures', 'log', 'ignored']) {
    it(
      `refuses ${member}, which only receipts have`,
      withLog(async (kept) => {
        await assert.rejects(kept.append(note('a', { [member]: 'x' })), code('entry_invalid'));
      }),
    );
  }

  const unclear: readonly (readonly [string, JsonObject])[] = [
    ['free text in a member of the schema', { text: 'she said: no' }],
    ['free text in a nested object', { text: { id: 'not an id' } }],
    ['free text in an array', { list: ['fine', 'not fine'] }],
    ['a member name that is free text', { 'my note': 1 }],
    ['a string in a member that the schema does not name', { other: 'word' }],
    ['a fraction', { text: 1.5 }],
    ['a nested fraction', { list: [{ id: 0.1 }] }],
    ['an integer that is not safe', { text: 2 ** 53 }],
    ['a lone surrogate', { text: '\ud800' }],
    ['nesting of 41', { list: JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) }],
    ['nesting of 17', { list: JSON.parse(`${'['.repeat(16)}${']'.repeat(16)}`) }],
    ['a member __proto__ with free text', JSON.parse('{"__proto__":"free text"}') as JsonObject],
  ];
  for (const [title, members] of unclear) {
    it(
      `refuses ${title}`,
      withLog(async (kept) => {
        await kept.log.declare([LOOSE]);
        const size = kept.log.size();
        await assert.rejects(kept.append(act(LOOSE.name, members)), LogError);
        assert.equal(kept.log.size(), size);
      }),
    );
  }

  it(
    'accepts values that are allowed in clear text',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      await kept.append(
        act(LOOSE.name, {
          text: '-12.50',
          id: 'a:b.c-d_e',
          list: [
            1,
            true,
            null,
            'id',
            { id: 'x' },
            JSON.parse(`${'['.repeat(12)}${']'.repeat(12)}`),
          ],
        }),
        note('a', { outcome: 'on hold' }),
      );
    }),
  );

  it(
    'refuses members that break the schema, an undeclared type, and an unknown type of the core',
    withLog(async (kept) => {
      await assert.rejects(kept.append(note('a', { amount: 'x' })), code('entry_invalid'));
      await assert.rejects(kept.append(act('gate.other.v1', {})), code('type_undeclared'));
      for (const type of ['log.note.v1', 'astl.claim.v1', 'Gate.note.v1', 'gate', '']) {
        await assert.rejects(kept.append(act(type, {})), LogError);
      }
    }),
  );

  it(
    'refuses an entry over 65,535 bytes, and accepts one of exactly that size',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      const sized = (n: number): Draft =>
        act(LOOSE.name, { list: Array.from({ length: n }, () => 1) });
      await assert.rejects(kept.append(sized(40_000)), code('entry_too_large'));
      const [small] = await kept.append(sized(30_000));
      const bytes = Buffer.byteLength(small!.text);
      // Each 1 takes two bytes; one more digit in the last number makes the size odd or even. The index keeps its
      // number of digits.
      const room = 65_535 - bytes;
      const members = (more: number): JsonObject => ({
        list: [
          ...Array.from({ length: 30_000 + Math.floor(more / 2) - 1 }, () => 1),
          more % 2 ? 10 : 1,
        ],
      });
      const [exact] = await kept.append(act(LOOSE.name, members(room)));
      assert.equal(Buffer.byteLength(exact!.text), 65_535);
      await assert.rejects(
        kept.append(act(LOOSE.name, members(room + 1))),
        code('entry_too_large'),
      );
    }),
  );

  it(
    'gives an entry exactly the specified members',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a', { outcome: 'DENY' }));
      const { kid } = kept.log.receiptKeys()[0]!;
      const { index, entry_id, issued_at_ms, links } = entry!;
      assert.deepEqual(entry!.statement, {
        type: 'gate.note.v1',
        origin: 'log.example/log/live/1',
        entry_id,
        index,
        issued_at_ms,
        kid,
        sandbox: false,
        tenant_ref: TENANT,
        case_id: 'a',
        outcome: 'DENY',
        links,
      });
      const { statement, signature } = entry!;
      assert.deepEqual(readEntry(entry!.text), {
        entry: { ...statement, signature },
        statement,
        signature,
      });
    }),
  );

  it(
    'marks the entries of a sandbox',
    withLog(
      async (kept) => {
        const [entry] = await kept.append(note('a'));
        assert.equal(entry!.statement.sandbox, true);
        assert.equal(kept.log.origin, 'log.example/log/sandbox/1');
      },
      { kind: 'sandbox' },
    ),
  );
});
