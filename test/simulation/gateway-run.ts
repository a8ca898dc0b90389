// Runs a plan against a gateway on a simulated machine: many tenants, one operator, and everything that fails on the
// way. A run ends with faults healed: every request with an Idempotency-Key is then answered, and the log says what
// the gateway told its tenants.

import type { JsonObject, Log } from '../../log/index.ts';
import { checkEntries } from './gateway-oracle.ts';
import { codeOf, NAMES } from './gateway-clients.ts';
import { GatewayTenants, hookOf, markOf, nth } from './gateway-tenants.ts';
import type { Asked, Private } from './gateway-clients.ts';
import type { Serving } from './gateway-process.ts';
import type { GatewayPlan, GatewayStep } from './gateway-plan.ts';
import { send } from './gateway-requests.ts';
import type { Answer } from './gateway-requests.ts';
import { DATA, PATIENCE_MS } from './subject.ts';
import type { Received } from './world/undici.ts';
import { Broken, inWorld, World } from './world/world.ts';

/** An entry of the log, and what a parse of it says. */
interface Entry {
  readonly index: number;
  readonly text: string;
  readonly statement: JsonObject;
}

/** What the answer of a usage has. */
interface Usage {
  readonly tenant_ref: string;
  readonly acts: number;
  readonly tolls: readonly { readonly toll: string; readonly acts: number }[];
}

/** The run of a first start that nothing disturbs, with which most other runs begin. */
let image: Promise<GatewayRun> | null = null;

async function undisturbed(): Promise<GatewayRun> {
  const world = new World('first start', { traced: false });
  const plan = { world: 'gateway', seed: world.seed, interval_ms: 1000, first: true } as const;
  const run = new GatewayRun({ ...plan, steps: [] }, world);
  await inWorld(world, () => run.begin());
  return run;
}

export class GatewayRun extends GatewayTenants {
  readonly #parsed: Entry[] = [];

  /** The run of a plan. */
  static async of(plan: GatewayPlan, world: World): Promise<GatewayRun> {
    const run = new GatewayRun(plan, world);
    if (!plan.first) run.#continue(await (image ??= undisturbed()));
    return run;
  }

  /** Begins with the disk that an earlier run has left. */
  #continue({ files, databases, keys, world }: GatewayRun): void {
    this.files = files.copy();
    this.databases = databases.copy();
    for (const key of keys) this.keys.push({ ...key });
    this.world.now_us = world.now_us;
  }

  /** A first start, and a key for each tenant. */
  async begin(): Promise<void> {
    this.use();
    const serving = await this.#serving();
    for (const [tenant] of NAMES.entries()) this.issue(serving, tenant);
    await this.world.until(() => this.keys.length === NAMES.length, PATIENCE_MS);
    await this.stop(serving);
  }

  async run(): Promise<void> {
    this.use();
    this.start();
    for (const step of this.plan.steps) {
      await this.#step(step);
      for (let turns = step.turns; turns > 0 && (await this.world.turn()); turns -= 1);
      this.world.check();
    }
    await this.#end();
  }

  async #step(step: GatewayStep): Promise<void> {
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
        this.databases.faults.failing = {
          ...{ how: step.how, letter: null, folder: `${DATA}/${step.database}` },
        };
        return;
      default: {
        const serving = await this.opened();
        if (serving === null) return;
        this.retry(serving);
        if (step.do === 'restart') {
          await this.stop(serving);
          this.again();
        } else if ('once' in step) this.request(serving, step);
        else this.#operate(serving, step);
      }
    }
  }

  // What the operator does, and what is only read.

  #operate(serving: Serving, step: GatewayStep): void {
    switch (step.do) {
      case 'repeat': {
        const sent = this.asked.filter(
          ({ state, once }) => once && (state === 'done' || state === 'sent'),
        );
        const asked = nth(sent, step.nth);
        if (asked !== undefined) this.send(serving, asked);
        return;
      }
      case 'erase':
        this.#erase(serving, nth(this.privates, step.entry), step.lost);
        return;
      case 'look':
        this.#look(serving, nth(this.privates, step.entry));
        return;
      case 'usage':
        this.#usage(serving, step.tenant);
        return;
      case 'visit':
        this.#visit(serving, nth([...this.partners.keys()], step.partner));
        return;
      case 'subscribe': {
        const { tenant } = step;
        const body = { url: hookOf(tenant), types: ['classification.error'] };
        const request = { method: 'POST', path: '/signal/trigger/subscriptions', body } as const;
        const answered = (): void => void this.subscribed.add(tenant);
        this.ask(serving, { tenant, once: false, request, answered });
        return;
      }
      case 'issue key':
        this.issue(serving, step.tenant);
        return;
      case 'rotate key': {
        const key = nth(
          this.keys.filter(({ state, until_ms }) => state === 'active' && until_ms === null),
          step.key,
        );
        if (key !== undefined) this.rotateKey(serving, key, step.grace_ms);
        return;
      }
      case 'revoke key': {
        const key = nth(
          this.keys.filter(({ state }) => state === 'active' || state === 'doubtful'),
          step.key,
        );
        if (key !== undefined) this.revokeKey(serving, key);
        return;
      }
      case 'old key': {
        const key = nth(
          this.keys.filter(({ state }) => state === 'revoked'),
          step.key,
        );
        if (key !== undefined) this.useOldKey(serving, key);
        return;
      }
      default:
        throw new Error(`no such step: ${step.do}`);
    }
  }

  #erase(serving: Serving, one: Private | undefined, lost: boolean): void {
    if (one === undefined) {
      this.#classify(serving);
      return;
    }
    if (one.erased === 'no') one.erased = 'asked';
    const { tenant, entry_id } = one;
    const request = { method: 'DELETE', path: `/api/v1/disclosures/${entry_id}` } as const;
    const answered = (): void => {
      one.erased = 'yes';
      this.checkErased(one);
    };
    this.ask(serving, { tenant, once: false, request, answered }, lost);
  }

  /** Makes an entry with a private text, where there is none. */
  #classify(serving: Serving): void {
    const step = { tenant: 0, once: true, lost: false, session: 0, turns: 0 };
    this.request(serving, { do: 'classify', surface: null, hook: false, ...step });
  }

  /** Reads a text, of which an erasure leaves nothing. */
  #look(serving: Serving, one: Private | undefined): void {
    if (one === undefined) {
      this.#classify(serving);
      return;
    }
    const { tenant, entry_id, member, text } = one;
    const before = one.erased;
    const request = { method: 'GET', path: `/receipt/lookup?entry_id=${entry_id}` } as const;
    const answered = ({ json }: Answer): void => {
      const { receipt } = json as { readonly receipt?: JsonObject };
      const opened = (receipt?.['disclosures'] ?? {}) as Record<string, JsonObject>;
      const { value, erased } = opened[member] ?? {};
      if (before === 'yes' && (value !== undefined || erased !== true)) {
        throw new Broken('erasure undone', `${entry_id} has ${JSON.stringify(opened)}`);
      }
      if (one.erased === 'no' && value !== text) {
        throw new Broken('disclosure lost', `${entry_id} has ${JSON.stringify(opened)}`);
      }
    };
    this.ask(serving, { tenant, once: false, request, answered });
  }

  /** The usage of a tenant equals a count over the log, at the moment of the answer. */
  #usage(serving: Serving, tenant: number): Asked {
    const log = serving.gateway.logs.live;
    const request = { method: 'GET', path: '/api/v1/clear/usage' } as const;
    const answered = ({ json }: Answer): void => {
      const { tenant_ref, acts, tolls } = json as unknown as Usage;
      const counts = new Map<string, number>();
      for (const { statement } of this.#entriesOf(log)) {
        const toll = statement['toll'];
        if (statement['tenant_ref'] !== tenant_ref || typeof toll !== 'string') continue;
        counts.set(toll, (counts.get(toll) ?? 0) + 1);
      }
      const found = new Map(tolls.map((one) => [one.toll, one.acts]));
      // After a write whose answer was lost, rows are ahead of the log until it has opened its database again.
      const behind = !log.health().writable;
      const differs = (toll: string): boolean => {
        const [told, counted] = [found.get(toll) ?? 0, counts.get(toll) ?? 0];
        return behind ? told < counted : told !== counted;
      };
      const sum = [...found.values()].reduce((a, b) => a + b, 0);
      if ([...found.keys(), ...counts.keys()].some(differs) || acts !== sum) {
        const shown = (tally: Iterable<readonly [string, number]>): string =>
          [...tally].map(([toll, count]) => `${toll} ${String(count)}`).join(', ');
        const answer = `${shown(found)} (${String(acts)})`;
        throw new Broken('usage', `${answer}, and the log has ${shown(counts)}`);
      }
    };
    return this.ask(serving, { tenant, once: false, request, answered });
  }

  /** Follows the link of a partner, which counts the visit. */
  #visit(serving: Serving, slug: string | undefined): void {
    const visits = slug === undefined ? undefined : this.partners.get(slug);
    if (slug === undefined || visits === undefined) return;
    visits.sent += 1;
    const process = this.process;
    void this.world
      .as(process, () => send(serving.handler, { method: 'GET', path: `/go/${slug}/relay` }))
      .then((answer) => {
        if (!process.alive) return;
        this.guard(() => {
          if (answer.status === 302) {
            if (!this.excused) visits.acknowledged += 1;
          } else if (!this.excused || answer.status < 500) {
            throw new Broken('visit', `${String(answer.status)} ${codeOf(answer)}`);
          }
        });
      });
  }

  // The end.

  async #end(): Promise<void> {
    const world = this.world;
    world.trace(() => '* the end: everything is healed');
    this.heal();
    world.skew_ms = this.farthest_ms;
    this.receivers.loss = 0;
    const serving = await this.#serving();
    await this.#finish(serving);
    await this.stop(serving);
    this.again();
    const last = await this.#serving();
    await this.#finish(last);
    await this.#checkTold(last);
  }

  async #serving(): Promise<Serving> {
    for (let tries = 0; tries < 10; tries += 1) {
      const serving = await this.opened();
      if (serving !== null) return serving;
    }
    throw new Broken('start hangs', 'a healthy gateway does not start');
  }

  async #finish(serving: Serving): Promise<void> {
    const world = this.world;
    const { live } = serving.gateway.logs;
    for (const log of Object.values(serving.gateway.logs)) log.operator.confirmClock();
    await world.pass(1000);
    if (!(await world.until(() => live.health().writable, PATIENCE_MS))) {
      throw new Broken('not writable', live.health().reason ?? '');
    }
    const settled = (): boolean =>
      !this.changingKeys && this.asked.every(({ state }) => state !== 'sent');
    for (let tries = 0; tries < 20; tries += 1) {
      this.retry(serving);
      await world.until(settled, PATIENCE_MS);
      if (tries > 2) this.excused = false;
      if (this.asked.every(({ state }) => state !== 'waiting')) break;
      await world.pass(100);
    }
    const left = this.asked.find(({ state }) => state === 'waiting' || state === 'sent');
    if (left !== undefined) {
      throw new Broken('no answer', `request ${String(left.n)} ${left.request.path}`);
    }
    for (const one of this.privates) if (one.erased === 'yes') this.checkErased(one);
    this.excused = false;
    const read = NAMES.map((_, tenant) => this.#usage(serving, tenant));
    await world.until(() => read.every(({ state }) => state !== 'sent'), PATIENCE_MS);
    world.check();
    await this.#checkVisits(serving);
    this.ledger.checkAll(live, false);
    checkEntries(this.#entriesOf(live), this.asked, markOf);
    this.#checkSecrets();
  }

  async #checkVisits(serving: Serving): Promise<void> {
    for (const [slug, { acknowledged, sent }] of this.partners) {
      const found: { answer: Answer | null } = { answer: null };
      void this.world
        .as(this.process, () =>
          send(serving.handler, { method: 'GET', path: `/go/${slug}/status` }),
        )
        .then((answer) => {
          found.answer = answer;
        });
      await this.world.until(() => found.answer !== null, PATIENCE_MS);
      const visits = Number(found.answer?.json['visits']);
      if (!(visits >= acknowledged && visits <= sent)) {
        const bounds = `${String(acknowledged)} to ${String(sent)} were made`;
        throw new Broken('visits', `${slug} has ${String(visits)}, and ${bounds}`);
      }
    }
  }

  /** Each receiver was told of each entry, and of none that is not in the log. A later try has the same body. */
  async #checkTold(serving: Serving): Promise<void> {
    const { received } = this.receivers;
    const isMissing = ({ entry_id, address }: (typeof this.told)[number]): boolean =>
      this.privates.some((one) => one.entry_id === entry_id && one.erased === 'no') &&
      !received.some((one) => one.address === address && idOf(one) === `msg_${entry_id}`);
    for (let tries = 0; tries < 12 && this.told.some(isMissing); tries += 1) {
      // A message that failed is due when the clock says so.
      this.world.skew_ms += LONGEST_WAIT_MS;
      await this.world.pass(3000);
    }
    const missing = this.told.find(isMissing);
    if (missing !== undefined) {
      throw new Broken('message lost', `${missing.address} was not told of ${missing.entry_id}`);
    }
    const bodies = new Map<string, string>();
    for (const one of received) {
      const id = idOf(one);
      if (serving.gateway.logs.live.indexOfEntry(id.slice('msg_'.length)) === null) {
        throw new Broken('message of no entry', id);
      }
      if ((bodies.get(id) ?? one.body) !== one.body) throw new Broken('message differs', id);
      bodies.set(id, one.body);
    }
  }

  /** The entries of a log, each parsed once. */
  #entriesOf(log: Log): readonly Entry[] {
    for (let index = 0; index < log.size(); index += 1) {
      const text = log.entry(index) ?? '{}';
      if (this.#parsed[index]?.text === text) continue;
      this.#parsed[index] = { index, text, statement: JSON.parse(text) as JsonObject };
    }
    return this.#parsed.slice(0, log.size());
  }

  /** No file and no row of a database has a private text in clear. */
  #checkSecrets(): void {
    const place = this.files.find('secret-') ?? this.databases.find('secret-');
    if (place !== null) throw new Broken('private text', `${place} has one`);
  }
}

/** More than a message waits for its next try. */
const LONGEST_WAIT_MS = 26 * 3_600_000;

const idOf = ({ headers }: Received): string => headers['webhook-id'] ?? '';
