// Runs a plan against the core of the log on a simulated machine, and checks after every step that the log keeps what
// it said. A run ends with faults healed: the log must then start, take an entry and publish it, and every row, root and
// absence document must agree with an oracle that reads only the entries.

import { manifestHash, runSince } from '../../log/index.ts';
import type { JsonObject, Log } from '../../log/index.ts';
import { native } from '../../log/crypto/native.ts';
import { vhash } from '../../log/map/head.ts';
import { skey } from '../../log/map/key.ts';
import { toHex } from '../../log/encoding/bytes.ts';
import { trustedKeyOf, verifyAbsence } from '../../log/verify.ts';
import { naiveRoot } from '../log/map/recursive-map.ts';
import { ACT, scan, told } from '../log/read/scanned-verdict.ts';
import { checkLie } from './lies.ts';
import { LogClients } from './log-clients.ts';
import type { Step } from './plan.ts';
import { all, DATA, describe, entity, NOTE, PATIENCE_MS, TENANTS } from './subject.ts';
import { useFiles } from './world/files.ts';
import { useDatabases } from './world/level.ts';
import { Broken } from './world/world.ts';

export class LogRun extends LogClients {
  async run(): Promise<void> {
    useFiles(this.files);
    useDatabases(this.databases);
    if (this.plan.lying === 'database') this.databases.faults.lying = true;
    if (this.plan.lying === 'files') this.files.faults.lying = true;
    this.start();
    for (const step of this.plan.steps) {
      if (this.detected) return;
      await this.#step(step);
      for (let turns = step.turns; turns > 0 && (await this.world.turn()); turns -= 1);
      this.#check();
    }
    await this.#end();
  }

  // Steps.

  async #step(step: Step): Promise<void> {
    const world = this.world;
    if (step.do !== 'pass') world.trace(() => `* ${JSON.stringify(step)}`);
    switch (step.do) {
      case 'pass':
      case 'crash':
      case 'disk full':
      case 'sync fails':
      case 'disk slow':
      case 'disk well':
      case 'clock':
        await this.onMachine(step);
        return;
      case 'batch fails':
        this.excused = true;
        this.databases.faults.failing = { how: step.how, letter: step.letter };
        return;
      case 'witness':
        this.witnesses.set(step.nth, step.up);
        return;
      case 'bit flips': {
        const flipped = this.databases.flip(DATA, step.letter, world.random('flip'));
        if (flipped !== null) this.damaged = true;
        world.trace(() => `flipped ${flipped === null ? 'nothing' : `bit ${String(flipped.bit)}`}`);
        return;
      }
      default:
        await this.#onLog(step);
    }
  }

  /** A step of a client or the operator: it waits for the log to be open, and is left out if it does not open. */
  async #onLog(step: Step): Promise<void> {
    if (this.log === null) this.start();
    if (!(await this.#opened())) {
      throw new Broken('start hangs', 'the log neither starts nor refuses');
    }
    const log = this.log;
    if (log === null) return;
    if (this.recovers(log) && step.do !== 'restart' && step.do !== 'publish') return;
    this.retry(log);
    switch (step.do) {
      case 'restart':
        await this.#stop(log);
        await this.again();
        return;
      case 'succeed':
        if (this.damaged || this.plan.lying !== null) return;
        await this.#stop(log);
        this.succeeding = true;
        await this.again();
        return;
      case 'ask':
        this.#ask(log, step);
        return;
      default:
        this.#act(log, step);
    }
  }

  async #stop(log: Log): Promise<void> {
    let closed = false;
    this.stopping = true;
    this.call(
      'close',
      ['log_unavailable'],
      () => log.close(),
      () => {
        closed = true;
      },
    );
    const process = this.process;
    if (
      !(await this.world.until(
        () => closed || !process.alive || this.log === null,
        PATIENCE_MS * this.world.slowness,
      ))
    ) {
      throw new Broken('close hangs', 'the log does not close');
    }
    await this.world.end(process);
    // A close that failed has not let go of the database; the process ends.
    this.databases.crash(DATA, false, this.world.random('crash'));
  }

  #act(log: Log, step: Step): void {
    switch (step.do) {
      case 'append':
        this.append(log, this.notes(step.tenant, step.cases));
        return;
      case 'once': {
        const first = this.n;
        const drafts = this.notes(step.tenant, step.cases);
        this.once.push({ key: first, drafts, first, state: 'waiting' });
        this.retry(log);
        return;
      }
      case 'many':
        for (let i = 0; i < step.groups; i += 1) {
          this.append(
            log,
            this.notes(
              0,
              Array.from({ length: step.size }, (_, at) => at),
            ),
          );
        }
        return;
      case 'refused': {
        const broken = {
          type: NOTE.name,
          tenant_ref: TENANTS[0] ?? '',
          members: { case_id: 'c0' },
        };
        this.call('bad append', ['entry_invalid', 'tenant_unknown', 'log_closed'], () =>
          log.append([...this.notes(0, [0]), broken]),
        );
        return;
      }
      case 'tenant': {
        const tenant_ref = TENANTS[step.tenant] ?? '';
        this.call('tenant', [], () => log.registerTenant(tenant_ref, '0'.repeat(64)));
        return;
      }
      case 'claim':
        this.surface(log, step.tenant, 'astl.entity.v1', () => ({
          entity: entity(step.entity),
          action: 'claim',
        }));
        return;
      case 'manifest':
        this.surface(
          log,
          null,
          'astl.manifest.v1',
          ({ issued_at_ms }) => {
            const members = {
              entity: entity(step.entity),
              surfaces: step.both ? ['bind', 'pay'] : ['pay'],
              valid_from_ms: issued_at_ms,
              ...(step.interval_ms === null ? {} : { heartbeat_interval_ms: step.interval_ms }),
            };
            return { ...members, surface_manifest_hash: manifestHash(native, members) };
          },
          step.entity,
        );
        return;
      case 'beat':
        this.surface(
          log,
          null,
          'astl.heartbeat.v1',
          ({ surfaces, issued_at_ms }) => {
            const name = entity(step.entity);
            const last = surfaces.heartbeat(name, step.surface);
            const run_since_ms = runSince(last, step.interval_ms, issued_at_ms);
            return {
              entity: name,
              surface: step.surface,
              interval_ms: step.interval_ms,
              run_since_ms,
            };
          },
          step.entity,
        );
        return;
      case 'act':
        this.surface(
          log,
          null,
          ACT.name,
          () => ({ entity: entity(step.entity), surface: step.surface }),
          step.entity,
        );
        return;
      case 'publish':
        this.call('publish', [], () => log.whenPublished(log.size()));
        return;
      case 'attach': {
        const rows = [{ key: `row/${String(step.row)}`, value: Uint8Array.of(step.turns) }];
        this.call('attach', [], () => log.putAttached(rows, { sync: step.sync }));
        return;
      }
      case 'rotate':
        this.call('rotate', ['log_closed'], () => log.operator.rotateKey());
        return;
      case 'revoke':
        // The row of the keys may be damaged.
        this.tolerant(() => this.#revoke(log, log.receiptKeys().at(0)?.kid ?? ''));
        return;
      case 'confirm clock':
        log.operator.confirmClock();
        return;
      default:
        throw new Error(`no such step: ${step.do}`);
    }
  }

  #revoke(log: Log, kid: string): void {
    this.call(
      'revoke',
      ['log_closed'],
      () => log.operator.revokeKey(kid),
      () => {
        this.guard(() => {
          const key = log.receiptKeys().find((one) => one.kid === kid);
          if (key?.status !== 'revoked') throw new Broken('key', `${kid} is not revoked`);
          this.ledger.checkKeys(log);
        });
      },
    );
  }

  // Checks.

  /** After every step: the newest acknowledged entries are there, and a look at an older one. */
  #check(): void {
    const log = this.log;
    const world = this.world;
    world.check();
    if (log === null) return;
    if (this.recovers(log)) return;
    this.tolerant(() => {
      const { acknowledged } = this.ledger;
      const random = this.world.random('check');
      const indexes = [...acknowledged.keys()];
      for (const index of [
        ...indexes.slice(-2),
        ...indexes.slice(random.int(indexes.length + 1)).slice(0, 1),
      ]) {
        const found = log.entry(index);
        if (found === null) throw new Broken('receipt lost', `entry ${String(index)}`);
        if (found !== acknowledged.get(index))
          throw new Broken('receipt replaced', `entry ${String(index)}`);
      }
    });
    world.check();
  }

  /** Asks about a window, and compares the verified answer with a scan of the published entries. */
  #ask(log: Log, { entity: of, surface, at, length_ms }: Extract<Step, { do: 'ask' }>): void {
    const ledger = this.ledger;
    const { size, map_head_ms } = log.published();
    const first = ledger.statements[0]?.['issued_at_ms'];
    if (ledger.texts.length < size || typeof first !== 'number') return;
    const name = entity(of);
    const latest = Math.max(first, map_head_ms - 2000);
    const from_ms = latest + Math.floor(at * (map_head_ms - latest));
    const to_ms = Math.min(from_ms + length_ms, map_head_ms);
    const key = ['surface', name, surface];
    const question = { key, from_ms, to_ms };
    this.call(
      'ask',
      [],
      () => log.absence(question),
      (document) => {
        this.guard(() => {
          const trust = {
            origin: log.origin,
            vkey: log.vkey,
            keys: log.receiptKeys().map(trustedKeyOf),
          };
          const now_ms = Math.max(this.world.wall_ms, map_head_ms);
          let verdict: string;
          try {
            ({ verdict } = verifyAbsence(document, question, trust, { suite: native, now_ms }));
          } catch (error) {
            throw new Broken('absence document invalid', describe(error));
          }
          const own = ledger.statements.filter((one) => one['entity'] === name);
          const wanted = scan(told(own), { surface, from_ms, to_ms }).verdict;
          if (verdict !== wanted)
            throw new Broken('absence verdict', `${verdict}, and the entries say ${wanted}`);
        });
      },
    );
    const rows = ledger.statements.filter(
      (one) =>
        one['entity'] === name &&
        one['surface'] === surface &&
        Number(one['issued_at_ms']) >= from_ms &&
        Number(one['issued_at_ms']) <= to_ms &&
        one['type'] === ACT.name,
    );
    this.call(
      'chain',
      [],
      () => log.chain(question),
      (chain) => {
        this.guard(() => {
          const [found, wanted] = [
            chain.map(({ index }) => index),
            rows.map((one) => one['index']),
          ];
          if (JSON.stringify(found) !== JSON.stringify(wanted)) {
            throw new Broken(
              'chain',
              `${JSON.stringify(found)}, and the entries say ${JSON.stringify(wanted)}`,
            );
          }
        });
      },
    );
  }

  /** Heals everything and holds the log to what it promised. */
  async #end(): Promise<void> {
    const world = this.world;
    world.trace(() => '* the end: everything is healed');
    this.heal();
    this.witnesses.heal();
    // The operator sets the clock right: not before the last entry, which a command could not confirm.
    world.skew_ms = this.farthest_ms;
    await this.#serving();
    if (this.detected || this.damaged) return;
    await this.#finish('after the run');
    if (this.log === null || this.#hasDetected()) return;
    await this.#stop(this.log);
    await this.again();
    await this.#serving();
    if (this.#hasDetected()) return;
    await this.#finish('after a restart');
  }

  #hasDetected(): boolean {
    return this.detected;
  }

  /** Waits until the log has started or refused to. False if it does neither. */
  #opened(): Promise<boolean> {
    return this.world.until(() => !this.starting, PATIENCE_MS * this.world.slowness);
  }

  /** Waits until the log is open, starting it again as an operator would. */
  async #serving(): Promise<void> {
    for (let tries = 0; tries < 10; tries += 1) {
      if (this.log !== null || this.detected) return;
      this.start();
      if (!(await this.#opened())) break;
    }
    if (this.log === null && !this.detected)
      throw new Broken('start hangs', 'a healthy log does not start');
  }

  async #finish(when: string): Promise<void> {
    const world = this.world;
    const log = this.log;
    if (log === null) throw new Broken('start hangs', 'a healthy log does not start');
    // A lying disk has lost a key, and the log says so.
    if (log.health().lost_key !== null && this.plan.lying !== null) {
      this.detected = true;
      return;
    }
    log.operator.confirmClock();
    if (!(await world.until(() => log.health().writable, PATIENCE_MS))) {
      throw new Broken('not writable', `${when}: ${log.health().reason ?? ''}`);
    }
    log.operator.confirmClock();
    // A write that failed before the disk was healed may be noticed only now.
    await world.pass(1000);
    if (!(await world.until(() => log.health().writable, PATIENCE_MS))) {
      throw new Broken('not writable', `${when}: ${log.health().reason ?? ''}`);
    }
    this.excused = false;
    const done = { published: false };
    const tenant = TENANTS[0] ?? '';
    this.call(
      'last append',
      [],
      async () => {
        await log.registerTenant(tenant, '0'.repeat(64));
        this.append(log, this.notes(0, [0]));
        await log.append(this.notes(0, [0]));
        await log.whenPublished(log.size());
      },
      () => {
        done.published = true;
      },
    );
    for (let tries = 0; tries < 50 && this.once.length > 0; tries += 1) {
      this.retry(log);
      await world.until(() => this.once.every(({ state }) => state !== 'sent'), PATIENCE_MS);
      this.retry(log);
    }
    if (!(await world.until(() => done.published, PATIENCE_MS))) {
      throw new Broken(
        'not published',
        `${when}: size ${String(log.size())}, published ${String(log.published().size)}`,
      );
    }
    await this.#checkRows(log);
    this.ledger.checkAll(log, false);
    this.ledger.checkKeys(log);
    this.#checkMap();
    await this.#checkChain(log);
    checkLie(this.ledger, this.files, world.random('lie'));
  }

  /** The first page of a chain of many entries. */
  async #checkChain(log: Log): Promise<void> {
    const to_ms = log.published().map_head_ms;
    const answer: { chain: readonly { readonly index: number }[] | null } = { chain: null };
    const question = { key: ['sim.case', 'c0'], from_ms: 0, to_ms };
    this.call(
      'chain',
      [],
      () => log.chain(question),
      (chain) => {
        answer.chain = chain;
      },
    );
    await this.world.until(() => answer.chain !== null, PATIENCE_MS);
    const found = JSON.stringify((answer.chain ?? []).map(({ index }) => index));
    const all = this.ledger.statements.filter((one) => one['case_id'] === 'c0');
    const page = all.slice(0, answer.chain?.length ?? 0).map((one) => one['index']);
    if (found !== JSON.stringify(page) || (all.length > 0 && page.length === 0)) {
      throw new Broken('chain', `${found}, and the entries say ${JSON.stringify(page)}`);
    }
  }

  /** The rows of plugins, and what was sent, against the entries. */
  async #checkRows(log: Log): Promise<void> {
    const counts = new Map<string, number>();
    const add = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
    const found = new Map<number, number>();
    const declared = { note: false };
    for (const [at, ledger] of this.ledgers.entries()) {
      const own = at === this.number - 1;
      const texts = own ? all(log) : ledger.texts;
      for (const text of texts) {
        const statement = JSON.parse(text) as JsonObject;
        const { type, n } = statement;
        const [case_id, tenant_ref] = [statement['case_id'], statement['tenant_ref']] as string[];
        if (type === NOTE.name) found.set(Number(n), (found.get(Number(n)) ?? 0) + 1);
        if (!own) continue;
        if (type === NOTE.name) add(`sim/case/${case_id ?? ''}`);
        if (declared.note && tenant_ref !== undefined) add(`sim/usage/${tenant_ref}`);
        if (type === 'log.entry_type.v1' && statement['name'] === NOTE.name) declared.note = true;
      }
    }
    for (const [n, times] of found) {
      if (times > 1)
        throw new Broken('appended twice', `entry n=${String(n)} is there ${String(times)} times`);
      if (!this.sent.has(n)) throw new Broken('entry from nowhere', `n=${String(n)}`);
    }
    for (const [n, state] of this.sent) {
      if (state === 'acknowledged' && !found.has(n))
        throw new Broken('receipt lost', `n=${String(n)}`);
    }
    let rows: readonly (readonly [string, unknown])[] | null = null;
    this.call(
      'rows',
      [],
      () => log.rows('sim/'),
      (read) => {
        rows = read;
      },
    );
    await this.world.until(() => rows !== null, PATIENCE_MS);
    const wanted = JSON.stringify([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
    if (JSON.stringify(rows) !== wanted) {
      throw new Broken('rows', `${JSON.stringify(rows)}, and the entries say ${wanted}`);
    }
  }

  /** The root of the last published map head against the definition of the map. */
  #checkMap(): void {
    const { statements, origin, texts } = this.ledger;
    const heads = new Map<string, string>();
    const before = statements.at(-1);
    for (const [index, statement] of statements.slice(0, -1).entries()) {
      for (const link of (statement['links'] as readonly JsonObject[] | undefined) ?? []) {
        const key = link['key'] as string[];
        const leaf = native.sha256(Buffer.concat([Buffer.of(0), Buffer.from(texts[index] ?? '')]));
        const head = {
          count: Number(link['seq']) + 1,
          last_index: index,
          last_ms: Number(statement['issued_at_ms']),
          last_leaf_hash: leaf,
        };
        heads.set(toHex(skey(native, origin, key)), toHex(vhash(native, head)));
      }
    }
    const root = toHex(naiveRoot(heads));
    const stated = before?.['map_root'] as string | undefined;
    if (stated !== root) throw new Broken('map root', `${stated ?? ''}, by definition ${root}`);
  }
}
