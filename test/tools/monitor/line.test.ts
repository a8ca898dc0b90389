// The monitor against logs that are honest, and against each way in which one is not. Real HTTP, real
// files; the logs are forged, so that every lie is signed.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../../log/crypto/native.ts';
import { openVerifyPool } from '../../../log/crypto/verify-pool.ts';
import { toHex, utf8 } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json-types.ts';
import { formatCheckpoint } from '../../../log/note/checkpoint.ts';
import { formatNote, signatureLine } from '../../../log/note/note.ts';
import { parseVkey } from '../../../log/note/vkey.ts';
import { openEntry, verifyCheckpoint } from '../../../log/verify.ts';
import type { Polled } from '../../../tools/monitor/clock-rules.ts';
import { Line, type LineOptions, type Outcome } from '../../../tools/monitor/line.ts';
import type { Look } from '../../../tools/monitor/follower.ts';
import { placeOf } from '../../../tools/monitor/place.ts';
import type { Unwitnessed } from '../../../tools/monitor/freshness.ts';
import type { Report } from '../../../tools/monitor/report.ts';
import type { Watched } from '../../../tools/monitor/watch.ts';
import { ACT, CHECKPOINT_KEY, Forge, RECEIPT_KEY } from '../../support/forge.ts';
import { forgeVkey, serveLogs } from '../../support/serve-log.ts';
import type { LogServer } from '../../support/serve-log.ts';

/** What a report was told, in order. */
class Told implements Report {
  readonly looks: Look[] = [];
  readonly pins: string[] = [];
  readonly troubles: string[] = [];
  readonly notes: string[] = [];
  readonly violations: JsonObject[] = [];
  readonly entries: Watched[] = [];
  readonly cosigned: (string | null)[] = [];

  pinned(_log: string, { vkey }: { vkey: string }): void {
    this.pins.push(vkey);
  }
  checked(_log: string, _origin: string, look: Look): void {
    this.looks.push(look);
  }
  trouble(_log: string, reason: string): void {
    this.troubles.push(reason);
  }
  violation(_log: string, document: JsonObject): void {
    this.violations.push(document);
  }
  note(_log: string, text: string): void {
    this.notes.push(text);
  }
  watched(_log: string, entry: Watched): void {
    this.entries.push(entry);
  }
  cosignatures(_log: string, unwitnessed: Unwitnessed | null): void {
    this.cosigned.push(unwitnessed?.problem ?? null);
  }
}

describe('a monitor', () => {
  const pool = openVerifyPool({ threads: 0 });
  let server: LogServer;
  let state: string;
  let told: Told;
  let line: Line;

  beforeEach(async () => {
    server = await serveLogs();
    state = await mkdtemp(join(tmpdir(), 'actlog-monitor-'));
    told = new Told();
    line = await open();
  });

  afterEach(async () => {
    await line.close();
    await server.close();
    await rm(state, { recursive: true, force: true });
  });

  async function open(more: Partial<LineOptions> = {}, address = server.url): Promise<Line> {
    const place = await placeOf(address, 'live', { attempts: 1 });
    const signal = new AbortController().signal;
    return new Line('live', { place, state, pool, report: told, bars: false, signal, ...more });
  }

  /** A monitor that starts again, as after a restart. */
  async function again(more: Partial<LineOptions> = {}): Promise<Line> {
    await line.close();
    return (line = await open(more));
  }

  /** The finding of a look that must end in one, and the file that it is kept in. */
  async function finding(polled?: Polled): Promise<JsonObject> {
    assert.equal(await line.look(polled), 'violation', told.troubles.join());
    const document = told.violations.at(-1) ?? {};
    const name = line.name.replace('/', '-');
    const kept = await readFile(join(state, `${name}.violation.json`), 'utf8');
    assert.deepEqual(JSON.parse(kept), document);
    return document;
  }

  /** Checks with the offline verifier that a finding's last note commits to its entries. */
  function assertProves({ notes, entries, proof, vkey }: JsonObject, indexes: number[]): void {
    const { kid, jwk } = RECEIPT_KEY;
    const origin = (vkey as string).split('+', 1)[0] ?? '';
    const trust = { origin, vkey: vkey as string, keys: [{ kid, jwk }] };
    const tree = verifyCheckpoint((notes as string[]).at(-1) ?? '', trust);
    const opened = (entries as JsonObject[]).map((entry) => openEntry(entry, tree, trust).index);
    assert.deepEqual(opened, indexes);
    assert.equal(proof, 'signed');
  }

  const grow = (forge: Forge, acts: number): Forge => {
    for (let i = 0; i < acts; i += 1) forge.add('gate.decision.v1', ACT);
    return forge.mapHead();
  };

  describe('of an honest log', () => {
    it('checks everything, pins the key, and then only what is new', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      assert.equal(await line.look(), 'ok');
      assert.deepEqual(told.pins, [forgeVkey(forge.origin)]);
      server.put(grow(forge, 3));
      assert.equal(await line.look(), 'ok');
      assert.equal(await line.look(), 'ok');
      assert.deepEqual(
        told.looks.map(({ size, entries }) => [size, entries]),
        [
          [6, 6],
          [10, 4],
          [10, 0],
        ],
      );
      assert.equal(told.pins.length, 1);
    });

    it('goes on after a restart, from what it has checked', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      await line.look();
      server.put(grow(forge, 2));
      await again();
      assert.equal(await line.look(), 'ok');
      assert.deepEqual(
        told.looks.map(({ entries }) => entries),
        [6, 3],
      );
      assert.equal(told.pins.length, 1);
    });

    it('starts over where the replay at rest is gone, and reaches the note it had seen', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      await line.look();
      await line.close();
      await rm(join(state, 'live-1.replay'));
      await again();
      assert.equal(await line.look(), 'ok');
      assert.deepEqual(
        told.looks.map(({ entries }) => entries),
        [6, 6],
      );
    });

    it('takes an older note for a stale copy when it is consistent', async () => {
      const forge = new Forge().usual();
      const old = server.put(forge).note;
      const served = server.put(grow(forge, 2));
      await line.look();
      served.note = old;
      assert.equal(await line.look(), 'ok');
      assert.equal(told.looks.at(-1)?.stale, true);
    });

    it('reads a bare prefix with a key that is given', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      await line.close();
      const vkey = [forgeVkey(forge.origin)];
      line = await open({ vkey }, `${server.url}/log/live/1/`);
      assert.equal(await line.look(), 'ok');
      assert.equal(server.asked.includes('/export/offline-verify-kit.json'), false);
    });

    it('follows it to its successor, and only that', async () => {
      const first = new Forge().usual();
      const end = first.ms;
      first.add('log.closed.v1', { successor: 'log.example/log/live/2' });
      first.mapHead();
      server.put(first);
      assert.equal(await line.look(), 'ok');
      const second = new Forge('log.example/log/live/2');
      second.ms = end + 10_000;
      const predecessor = { origin: first.origin, size: first.size, root: toHex(first.root()) };
      second.open({ predecessor }).mapHead();
      server.put(second);
      assert.equal(await line.look(), 'ok');
      assert.equal(line.name, 'live/2');
      server.put(second.mapHead());
      assert.equal(await (await again()).look(), 'ok');
      assert.equal(line.name, 'live/2');
      assert.equal(told.looks.at(-1)?.size, 3);
    });

    it('follows a lost one to its successor, and says what nobody can see any more', async () => {
      const first = new Forge().usual();
      server.put(first);
      const lost = grow(first, 1);
      const second = new Forge('log.example/log/live/2');
      second.ms = lost.ms + 10_000;
      const predecessor = { origin: lost.origin, size: lost.size, root: toHex(lost.root()) };
      server.put(second.open({ predecessor }).mapHead());
      assert.equal(await line.look(), 'ok');
      assert.equal(line.name, 'live/2');
      assert.match(told.notes.join(), /given up at 8 entries, of which 2 are not served/);
    });
  });

  describe('of silence and noise', () => {
    it('calls it trouble when nobody answers, and goes on when somebody does', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      server.interfere = () => 503;
      assert.equal(await line.look(), 'trouble');
      server.interfere = (path) => (path.includes('entries') ? 500 : 0);
      assert.equal(await line.look(), 'trouble');
      server.interfere = () => 0;
      assert.equal(await line.look(), 'ok');
      assert.equal(told.violations.length, 0);
    });

    it('calls it trouble when the note is of another key', async () => {
      const forge = new Forge().usual();
      server.put(forge).note = formatNote(
        formatCheckpoint({ origin: forge.origin, size: 6, root: forge.root() }),
        [signatureLine(forge.origin, 7, new Uint8Array(64))],
      );
      assert.equal(await line.look(), 'trouble');
      assert.match(told.troubles.join(), /is not signed by log\.example/);
    });

    it('calls it trouble when a bundle is torn once, and checks it whole the next time', async () => {
      const forge = new Forge().usual();
      const served = server.put(forge);
      await line.look();
      const whole = server.put(grow(forge, 2));
      assert.notEqual(whole, served);
      const { texts } = whole;
      whole.texts = texts.with(7, (texts[7] ?? '').replace('PERMIT', 'DENY'));
      server.interfere = (path) => {
        // Torn when it is asked for first, whole at the second look.
        if (path.includes('entries') && server.asked.filter((one) => one === path).length > 1) {
          whole.texts = texts;
        }
        return 0;
      };
      assert.equal(await line.look(), 'trouble');
      assert.equal(await line.look(), 'ok');
      assert.equal(told.looks.at(-1)?.size, 9);
    });

    it('refuses another key than the pinned one', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      await line.look();
      await again({ vkey: [forgeVkey('other.example/log/live/1')] });
      await assert.rejects(line.look(), { name: 'CommandError', message: /is pinned to/ });
    });

    it('asks for a key when nobody names one', async () => {
      server.put(new Forge('log.example/log/live/7').usual());
      await assert.rejects(line.look(), { message: /nothing says which key live\/1 signs with/ });
    });
  });

  describe('of a log that breaks a rule', () => {
    it('shows the entry under the note that commits to it', async () => {
      const forge = new Forge().usual();
      forge.add('gate.decision.v1', ACT, { after_ms: 0 });
      server.put(forge.mapHead());
      const document = await finding();
      assert.equal(document['rule'], 'time_after_map_head');
      assertProves(document, [5, 6]);
    });

    it('shows a signature that does not hold, which only the threads find', async () => {
      const forge = new Forge().usual();
      forge.add('gate.decision.v1', ACT, {
        text: (text) => text.replace(/"signature":"..../, '"signature":"AAAA'),
      });
      server.put(grow(forge, 1));
      const document = await finding();
      assert.equal(document['rule'], 'signature');
      assert.deepEqual(
        (document['entries'] as JsonObject[]).map(({ index }) => index),
        [6],
      );
    });

    it('shows a map root that is not that of the entries', async () => {
      const forge = new Forge().usual();
      forge.add('gate.decision.v1', ACT);
      forge.mapHead({ statement: { map_root: '0'.repeat(64) } });
      server.put(forge);
      const document = await finding();
      assert.equal(document['rule'], 'map_root');
      assertProves(document, [7]);
    });

    it('shows a checkpoint that does not end with a map head', async () => {
      const forge = new Forge().usual();
      forge.add('gate.decision.v1', ACT);
      server.put(forge);
      assert.equal((await finding())['rule'], 'checkpoint_map_head');
    });

    it('shows a signed note that is not three lines', async () => {
      const forge = new Forge().usual();
      const { origin } = forge;
      const text = `${formatCheckpoint({ origin, size: 6, root: forge.root() })}extension\n`;
      const { key_id } = parseVkey(native, forgeVkey(origin));
      const note = formatNote(text, [
        signatureLine(origin, key_id, CHECKPOINT_KEY.sign(utf8(text))),
      ]);
      server.put(forge).note = note;
      const document = await finding();
      assert.equal(document['rule'], 'checkpoint_form');
      assert.deepEqual(document['notes'], [note]);
    });

    it('holds at a finding until its file is moved away, then looks again', async () => {
      const forge = new Forge().usual();
      forge.add('gate.decision.v1', ACT, { statement: { links: [] } });
      server.put(forge.mapHead());
      await finding();
      const requests = server.asked.length;
      await again();
      assert.equal(await line.look(), 'violation');
      assert.equal(server.asked.length, requests + 1, 'only the address was looked at');
      await rename(join(state, 'live-1.violation.json'), join(state, 'seen.json'));
      await finding();
      assert.equal(told.violations.length, 3);
    });
  });

  describe('of a log that has two faces', () => {
    /** Two histories that part after the usual six entries. */
    function fork(): { one: Forge; other: Forge } {
      const one = new Forge().usual();
      const other = new Forge().usual();
      other.add('gate.decision.v1', { ...ACT, outcome: 'DENY' });
      other.mapHead();
      return { one: grow(one, 1), other };
    }

    it('shows both notes of one size', async () => {
      const { one, other } = fork();
      const first = server.put(one).note;
      await line.look();
      const second = server.put(other).note;
      const document = await finding();
      assert.equal(document['rule'], 'two_roots');
      assert.deepEqual(document['notes'], [first, second]);
    });

    it('shows both notes when the later one does not have the earlier one in it', async () => {
      const { one, other } = fork();
      const first = server.put(one).note;
      await line.look();
      const second = server.put(grow(other, 2)).note;
      const document = await finding();
      assert.equal(document['rule'], 'inconsistent');
      assert.deepEqual(document['notes'], [first, second]);
      assert.equal(document['proof'], 'signed');
    });

    it('shows both notes when the earlier one comes later', async () => {
      const { one, other } = fork();
      const old = server.put(one).note;
      const served = server.put(grow(other, 2));
      const newer = served.note;
      await line.look();
      served.note = old;
      const document = await finding();
      assert.equal(document['rule'], 'inconsistent');
      assert.deepEqual(document['notes'], [old, newer]);
    });

    it('shows an entry that is served and not committed to', async () => {
      const { one, other } = fork();
      const served = server.put(one);
      served.texts = other.texts;
      const document = await finding();
      assert.equal(document['rule'], 'entry_not_included');
      const [entry] = document['entries'] as JsonObject[];
      assert.equal(entry?.['entry'], other.texts[6]);
      assert.equal(document['proof'], 'observed');
    });

    it('shows a successor that names another end than was published', async () => {
      const first = new Forge().usual();
      first.add('log.closed.v1', { successor: 'log.example/log/live/2' });
      const { note } = server.put(first.mapHead());
      const second = new Forge('log.example/log/live/2');
      second.ms = first.ms + 10_000;
      const predecessor = { origin: first.origin, size: first.size, root: '0'.repeat(64) };
      const own = server.put(second.open({ predecessor }).mapHead());
      const document = await finding();
      assert.equal(document['rule'], 'predecessor');
      assert.deepEqual(document['notes'], [note, own.note]);
      assertProves(document, [0]);
    });
  });

  describe('with its own clock', () => {
    const at = (now_ms: number): Polled => ({ now_ms, interval_ms: 10_000 });
    const judged = async (now_ms: number): Promise<Outcome> => line.look(at(now_ms));

    it('accepts what is on time', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      assert.equal(await judged(forge.ms - 60_000), 'ok');
      assert.equal(await judged(forge.ms + 730_000), 'ok');
    });

    it('finds a map head that comes from the future', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      const document = await finding(at(forge.ms - 60_001));
      assert.equal(document['rule'], 'map_head_future');
      assert.equal(document['clock_ms'], forge.ms - 60_001);
    });

    it('finds a checkpoint that is older than an idle log may have', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      assert.equal((await finding(at(forge.ms + 730_001)))['rule'], 'checkpoint_late');
    });

    it('asks no new checkpoint of a log that has ended', async () => {
      const forge = new Forge().usual();
      forge.add('log.closed.v1', { successor: null });
      server.put(forge.mapHead());
      assert.equal(await judged(forge.ms + 99_999_999), 'ok');
    });

    it('finds an entry that was kept back', async () => {
      const forge = new Forge().usual();
      server.put(forge);
      assert.equal(await judged(forge.ms + 131_001), 'ok');
      server.put(grow(forge, 1));
      const document = await finding(at(forge.ms + 131_001));
      assert.equal(document['rule'], 'merge_delay');
      assert.equal((document['entries'] as JsonObject[])[0]?.['index'], 6);
    });
  });
});
