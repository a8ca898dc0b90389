// A month of acts in three parts, sent to a gateway over HTTP. The answers must not depend on the number of logs that the
// month is spread over. Entry ids, times and indexes are left out; what depends on earlier parts (money, limits, books,
// triggers, holds, uniqueness) is compared.

import { commandVerbs } from '../../gateway/host/commands.ts';
import type { Answer, Running } from '../gateway/running.ts';
import { POLICY } from './gate/asking.ts';
import { readingsOf } from './foundry/readings.ts';

const GATE = '/api/v1/execute-gate';
const LISTINGS = '/api/v1/issuer-pays/listings';
const LISTING = { issuer: 'Acme', domain: 'acme.example' };
const USDC = 1_000_000;

/** The answer to one act in the form that is compared. */
export type Told = readonly [name: string, ...answer: unknown[]];

/** A gateway, and the data that later parts need from earlier ones. */
export class Month {
  running: Running;
  readonly told: Told[] = [];
  readonly #owner: string;
  #rival = '';
  #carrier = '';
  /** Ids from answers, by names that the test gives them. */
  readonly #ids = new Map<string, string>();
  /** The openings of use secrets, by the name of the act. */
  readonly #secrets = new Map<string, unknown>();
  readonly #hour = Date.now() - 3_600_000;

  constructor(running: Running) {
    this.running = running;
    this.#owner = running.live;
  }

  /** Issues the keys for the month. */
  async issue(): Promise<void> {
    const { tenants } = this.running.gateway;
    this.#rival = (await tenants.issue({ tenant: 'rival', kind: 'live' })).key;
    const role = 'carrier' as const;
    this.#carrier = (await tenants.issue({ tenant: 'insurer', kind: 'live', role })).key;
  }

  /** Runs all three parts; `between` may replace the log by a successor. */
  async run(between: (running: Running) => Promise<Running>): Promise<readonly Told[]> {
    await this.issue();
    await this.begin();
    this.running = await between(this.running);
    await this.goOn();
    this.running = await between(this.running);
    await this.end();
    return this.told;
  }

  async begin(): Promise<void> {
    await this.#command('clear ceiling', { tenant: 'rival', acts: 5 });
    await this.#grant('pi_1');
    await this.#grant('pi_2');
    await this.#grant('pi_1');
    await this.#burst(3);
    await this.#bind('a', 400_000);
    await this.#bind('b', 90_000);
    await this.#custody('tokenize', '100', { holder: 'alice' });
    await this.#custody('custody_transfer', '30.5', { holder: 'alice', counterparty: 'bob' });
    for (const name of ['armed', 'fired', 'fed', 'run']) await this.#publish(name);
    await this.#fire('fired', 1);
    await this.#aggregate('agreed', ['1', '1', '1']);
    await this.#fire('fed', 'agreed');
    await this.#hold();
    await this.#fire('run', 1);
    await this.#aggregate('disputed', ['1', '2', '30']);
    await this.#policy({ rules: [] });
    await this.#policy(POLICY);
    await this.#gate('held', 500);
    await this.#gate('refused', 600);
    await this.#gate('permitted', 50);
    await this.#gate('spent', 60);
    await this.#use('spent');
    const enroll = '/carrier/v1/enroll';
    const { entity } = await this.#tell('enroll', enroll, { company: 'Acme' }, this.#carrier);
    await this.#tell('classify', '/api/v1/classify', { message: 'Hello', entity }, this.#carrier);
    await this.#tell('partner', '/api/v1/relay/enroll', { partner: 'Acme Brokers' });
    await this.#tell('listing', LISTINGS, LISTING);
    await this.#manifest();
    await this.#repeat();
    await this.#erase();
    await this.#standing();
  }

  async goOn(): Promise<void> {
    await this.#standing();
    await this.#grant('pi_2');
    await this.#burst(4);
    await this.#bind('c', 20_000);
    await this.#bind('a', 400_000);
    await this.#custody('tokenize', '1', { holder: 'carol' });
    await this.#custody('custody_transfer', '70', { holder: 'alice', counterparty: 'bob' });
    await this.#custody('custody_transfer', '10', { holder: 'bob', counterparty: 'carol' });
    await this.#fire('fired', 1);
    await this.#fire('fed', 'agreed');
    await this.#bindGate();
    await this.#fire('run', 1);
    await this.#aggregate('pending', ['1', '1', '1'], 'other');
    await this.#fire('armed', 'disputed');
    await this.#gate('asked again', 500, 'held');
    await this.#release('held', 'release');
    await this.#use('permitted');
    await this.#use('spent');
    await this.#comply();
    await this.#tell('enroll', '/carrier/v1/enroll', { company: 'Acme' }, this.#carrier);
    await this.#tell('partner', '/api/v1/relay/enroll', { partner: 'Acme Brokers' }, this.#rival);
    await this.#tell('partner', '/api/v1/relay/enroll', { partner: 'Acme Brokers' });
    await this.#tell('listing', LISTINGS, LISTING, this.#rival);
    await this.#tell('listing', LISTINGS, LISTING);
    await this.#manifest();
    await this.#manifest(this.#rival);
    await this.#repeat();
    await this.#erase();
    await this.#policy(POLICY);
    await this.#standing();
  }

  async end(): Promise<void> {
    await this.#standing();
    await this.#grant('pi_1');
    await this.#grant('pi_3');
    await this.#burst(1);
    await this.#bind('d', 1_000);
    await this.#bind('c', 20_000);
    await this.#custody('custody_transfer', '41', { holder: 'bob', counterparty: 'carol' });
    await this.#custody('custody_transfer', '40.5', { holder: 'bob', counterparty: 'carol' });
    await this.#custody('mint', '5', { holder: 'alice' });
    await this.#resolve('disputed', '2');
    await this.#resolve('disputed', '2');
    await this.#resolve('disputed', '3');
    await this.#fire('fed', 'pending');
    await this.#fire('armed', 1);
    await this.#bindGate();
    await this.#unhold();
    await this.#bindGate();
    await this.#unhold();
    await this.#fire('run', 1);
    await this.#gate('asked again', 500, 'held');
    await this.#gate('asked again', 600, 'refused');
    await this.#release('refused', 'refuse');
    await this.#release('held', 'refuse');
    await this.#use('permitted');
    await this.#comply();
    await this.#policy({ rules: [] });
    await this.#repeat();
    await this.#erase();
    await this.#standing();
  }

  /** The possessions and permissions of the tenants. */
  async #standing(): Promise<void> {
    for (const [who, key] of [
      ['owner', this.#owner],
      ['rival', this.#rival],
    ] as const) {
      const { json: usage } = await this.running.get('/api/v1/clear/usage', { key });
      const { acts, tolls, total_usd, cleared_usd, ceiling } = usage;
      this.told.push([`usage of ${who}`, acts, tolls, total_usd, cleared_usd, ceiling]);
      const { json: exposure } = await this.running.get('/api/v1/clear/exposure', { key });
      this.told.push([`exposure of ${who}`, exposure.tier, exposure.fees_usd, exposure.tiers]);
      const { json: credits } = await this.running.get('/api/v1/clearing/credits', { key });
      const { granted_micro_usd, drawn_micro_usd, left_usd } = credits;
      this.told.push([`credits of ${who}`, granted_micro_usd, drawn_micro_usd, left_usd]);
      const month = String(usage.month);
      const { json: invoice } = await this.running.get(`/api/v1/clearing/invoices/${month}`, {
        key,
      });
      const { status, weeks, fees, net_usd } = invoice;
      this.told.push([`invoice of ${who}`, status, weeks, fees, invoice.tolls, net_usd]);
    }
    const { json: network } = await this.running.get('/api/v1/clear/network', { key: this.#owner });
    this.told.push(['network', network.tenants, network.acts, network.total_usd]);
    const key = this.#owner;
    const { json: policy } = await this.running.get(`${GATE}/policy`, { key });
    const { json: first } = await this.running.get(`${GATE}/policy?version=1`, { key });
    this.told.push(['policy', policy.policy_version, policy.policy, first.policy]);
    const { json: holds } = await this.running.get(`${GATE}/holds`, { key });
    const waiting = holds.data.map(({ entry_id }: { readonly entry_id: string }) =>
      this.#nameOf(entry_id),
    );
    this.told.push(['holds', waiting, holds.closed_logs]);
    const { json: base } = await this.running.get('/api/v1/foundry/installed-base/first', { key });
    this.told.push(['installed base', base.counts]);
    const { json: catalog } = await this.running.get('/api/v1/foundry/catalog.json', { key });
    this.told.push(['settlements', catalog.recent_settlements.length]);
    const { json: relay } = await this.running.get('/api/v1/relay/network', { key });
    this.told.push(['partners', relay.partners, relay.data.length]);
    const { json: listings } = await this.running.get(LISTINGS, { key });
    this.told.push(['listings', listings.data.map(({ domain }: Answer['json']) => domain)]);
  }

  #nameOf(id: string): string {
    return [...this.#ids].find(([, known]) => known === id)?.[0] ?? 'unknown';
  }

  async #command(name: string, args: object): Promise<void> {
    try {
      const verb = commandVerbs(this.running.gateway)[name];
      await verb?.({ kind: 'live', ...args });
      this.told.push([name, 'done']);
    } catch (error) {
      this.told.push([name, (error as Error).message]);
    }
  }

  #grant(order: string): Promise<void> {
    return this.#command('clearing grant', { tenant: 'first', sku: 'clearing_quarterly', order });
  }

  async #tell(
    name: string,
    path: string,
    body: object,
    key = this.#owner,
    shown: (json: Answer['json']) => unknown = () => null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer['json']> {
    const { status, json } = await this.running.post(path, body, { key, headers });
    const said = status === 200 ? shown(json) : [json.error?.code ?? json.title, json.error?.param];
    this.told.push([name, status, said]);
    return json;
  }

  /** Concurrent acts of the tenant with a ceiling; returns how many are accepted. */
  async #burst(acts: number): Promise<void> {
    const asked = Array.from({ length: acts }, () =>
      this.running.post('/api/v1/classify', { message: 'Hello' }, { key: this.#rival }),
    );
    const answers = await Promise.all(asked);
    this.told.push(['burst', answers.map(({ status }) => status).sort()]);
  }

  #bind(digit: string, usd: number) {
    const body = { payment_hash: digit.repeat(64), amount_atomic: usd * USDC, currency: 'USDC' };
    return this.#tell(`bind ${digit}`, '/api/v1/bind-payment', body, this.#owner, (json) =>
      this.#same(`bind ${digit}`, json.receipt.entry_id),
    );
  }

  /** Whether an answer has the same id as the first answer had. */
  #same(name: string, id: string): string {
    const known = this.#ids.get(name);
    if (known === undefined) this.#ids.set(name, id);
    return known === undefined ? 'new' : known === id ? 'the same' : 'another';
  }

  #custody(event_type: string, quantity: string, more: object) {
    const body = { asset_id: 'fund-7', event_type, quantity, ...more };
    return this.#tell(event_type, '/api/v1/custody/attest', body, this.#owner, (json) => [
      ...[json.parity, json.receipt.holder_after, json.receipt.counterparty_after],
    ]);
  }

  #publish(name: string) {
    const condition = { metric: 'incident', comparator: 'gte', threshold: '1', consecutive: 3 };
    const body = { template_id: 'incident_sealed', enabled_exposure_usd: '1000' };
    const more = name === 'run' ? { condition } : {};
    return this.#tell(
      `publish ${name}`,
      '/signal/trigger/publish',
      { ...body, ...more },
      this.#owner,
      (json) => this.#same(name, json.trigger_id),
    );
  }

  #fire(name: string, by: string | number) {
    const observed =
      typeof by === 'number'
        ? { reading: { metric: 'incident', value: by } }
        : { aggregate_entry_id: this.#ids.get(by) };
    const body = { trigger_id: this.#ids.get(name), ...observed };
    return this.#tell(
      `fire ${name} by ${String(by)}`,
      '/api/v1/foundry/trigger/fire',
      body,
      this.#owner,
      ({ state, evaluation, settlement, receipt }) => [
        ...[state, evaluation.met, evaluation.reason, evaluation.run_length],
        settlement === undefined
          ? this.#same(`evaluation of ${name} by ${String(by)}`, receipt.entry_id)
          : [this.#same(`settlement of ${name}`, receipt.entry_id), settlement.fee_usd],
      ],
    );
  }

  #aggregate(name: string, values: readonly string[], feed_id = name) {
    const body = { feed_id, readings: readingsOf(...values) };
    return this.#tell(
      `aggregate ${name}`,
      '/api/v1/oracle/aggregate',
      body,
      this.#owner,
      (json) => [json.state, this.#same(name, json.aggregate_entry_id)],
    );
  }

  #resolve(name: string, value: string) {
    const body = { aggregate_entry_id: this.#ids.get(name), value, resolver: 'The panel' };
    return this.#tell(`resolve ${name}`, '/api/v1/oracle/resolve', body, this.#owner, (json) =>
      this.#same(`resolution of ${name}`, json.resolution_entry_id),
    );
  }

  #policy(policy: object) {
    return this.#tell('put policy', `${GATE}/policy`, policy, this.#owner, (json) => [
      ...[json.policy_version, json.policy_sha256],
    ]);
  }

  /** Asks the gate about an act of this time and session, or again about an earlier one. */
  #gate(name: string, amount_atomic: number, again = name) {
    const body = {
      ...{ action_type: 'payment.release', agent_id: `agent:${again}`, amount_atomic },
      ...{ currency: 'USDC', timestamp_ms: this.#hour, session_id: 'june' },
    };
    return this.#tell(`gate ${again}`, GATE, body, this.#owner, (json) => {
      if (json.permit !== undefined) this.#secrets.set(again, json.permit.use_secret);
      return [
        ...[json.outcome, json.reasons, json.policy_version],
        this.#same(`act ${again}`, json.hold_id ?? json.decision_entry_id),
        this.#same(again, json.hold_id ?? json.decision_entry_id),
      ];
    });
  }

  /** Fires a trigger that holds binds. */
  async #hold(): Promise<void> {
    const post = (path: string, body: object) =>
      this.running.post(path, body, { key: this.#owner });
    const { json } = await post('/signal/trigger/publish', { template_id: 'bind_gate_hold' });
    this.#ids.set('hold of binds', json.trigger_id as string);
    const reading = { metric: 'bind_hold', value: 1 };
    await post('/api/v1/foundry/trigger/fire', { trigger_id: json.trigger_id, reading });
  }

  #bindGate() {
    const body = { action_type: 'policy.bind', agent_id: 'agent:bind' };
    return this.#tell('bind gate', `${GATE}/bind`, body, this.#owner, (json) => [
      ...[json.decision, json.reasons],
    ]);
  }

  #unhold() {
    const body = { trigger_id: this.#ids.get('hold of binds'), reason: 'reviewed' };
    return this.#tell('release the binds', '/api/v1/foundry/trigger/release', body);
  }

  #release(name: string, action: string) {
    const path = `${GATE}/holds/${this.#ids.get(name) ?? ''}`;
    return this.#tell(
      `${action} ${name}`,
      path,
      { action, reason: 'checked' },
      this.#owner,
      (json) => [...[json.outcome, json.state, json.policy_version]],
    );
  }

  #use(name: string) {
    const body = {
      ...{ receipt: this.#ids.get(name), action_type: 'payment.release' },
      ...{ agent_id: `agent:${name}`, timestamp_ms: this.#hour },
      use_secret: this.#secrets.get(name),
    };
    return this.#tell(`use ${name}`, `${GATE}/permits/use`, body);
  }

  async #comply(): Promise<void> {
    const path = '/carrier/v1/insured/acme/compliance';
    const { status, json } = await this.running.get(path, { key: this.#carrier });
    const parts = json.audit?.map(({ part }: { readonly part: string }) => part);
    this.told.push(['comply', status, json.decision, json.reasons, parts]);
  }

  #manifest(key = this.#owner) {
    const body = { entity: 'did:example:acme', surfaces: ['policy_bind'] };
    return this.#tell('manifest', '/api/v1/astl/publish', body, key, (json) => [
      ...[this.#same('manifest', json.surface_manifest_hash), json.claim === undefined],
    ]);
  }

  /** The same request with the same idempotency key. */
  #repeat() {
    const headers = { 'Idempotency-Key': 'once-in-the-month' };
    const shown = (json: Answer['json']) => this.#same('repeated', json.entry_id);
    const body = { message: 'Schedule the interview' };
    return this.#tell('repeat', '/api/v1/classify', body, this.#owner, shown, headers);
  }

  /** Erases the text of an entry of the first part, and requests it again. */
  async #erase(): Promise<void> {
    const id = this.#ids.get('erased') ?? (await this.#erasable());
    const key = this.#owner;
    const { status, json } = await this.running.ask('DELETE', `/api/v1/disclosures/${id}`, { key });
    this.told.push(['erase', status, json.erased, this.#same('erasure', json.erasure_entry_id)]);
  }

  async #erasable(): Promise<string> {
    const body = { message: 'to be erased' };
    const { json } = await this.running.post('/api/v1/classify', body, { key: this.#owner });
    const { entry_id } = json as { readonly entry_id: string };
    this.#ids.set('erased', entry_id);
    return entry_id;
  }
}
