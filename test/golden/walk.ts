// The golden run: two tenants call every route of both logs with a fixed clock and seeded randomness (./seeded.ts),
// one request after the other, with errors in between. Each answer, and each entry and checkpoint of the logs, is a
// line on standard output.

import { createHash } from 'node:crypto';
import '../support/state-folder.ts';
import { LOG_KINDS } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Body } from '../support/body.ts';
import { Clock, run } from '../gateway/running.ts';
import type { Answer, Ask, Running } from '../gateway/running.ts';

/** 2026-11-01T00:00:00Z. */
const START_MS = 1_793_491_200_000;
const STEP_MS = 1_000;
const WEEK_MS = 7 * 86_400_000;
/** Answers up to this length are in the transcript as text, longer ones as a hash. */
const SHOWN = 240;
const NO_ID = '01900000-0000-7000-8000-000000000000';
const ACT = { action_type: 'payment.release', agent_id: 'agent:treasury-bot' };
const WINDOW = { from_ms: START_MS, to_ms: START_MS + 5_000 };
/** Members with wording for people, which may change; all others may not. */
const WORDED = new Set(['message', 'detail', 'title', 'description', 'summary', 'hint', 'advice']);
/** Documents of prose or about the process: requested, but not compared. */
const UNCOMPARED =
  /^\/(openapi\.json|metrics|health|status\.json|static\/)|^\/(livez|readyz|api\/v1\/service)$/;

/** Changes only by `pass`. */
class FixedClock extends Clock {
  #now = START_MS;
  override wall(): number {
    return this.#now;
  }
  override monotonic(): number {
    return this.#now - START_MS;
  }
  override pass(ms: number): void {
    this.#now += ms;
  }
}

const sha256 = (text: string | Uint8Array): string =>
  createHash('sha256').update(text).digest('hex');

function unworded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unworded);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([name, member]) => !(WORDED.has(name) && typeof member === 'string'),
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, unworded(member)]));
}

/** The part of an answer that must not change: JSON without wording; of pages only the content type. */
function shown({ headers, text, json }: Answer): string {
  const type = (headers.get('content-type') ?? '-').split(';')[0] ?? '-';
  if (/^text\/(html|css|javascript)|^image\/|javascript/.test(type)) return type;
  const kept = json === undefined ? text : JSON.stringify(unworded(json));
  const whole = process.env['GOLDEN_WHOLE'] === '1' || kept.length <= SHOWN;
  return `${type} ${whole ? kept.replaceAll('\n', '\\n') : `${String(kept.length)} ${sha256(kept)}`}`;
}

/** Waits until a checkpoint covers everything that is durable. */
async function settled(log: Log): Promise<void> {
  const { size } = log.health();
  if (size > log.published().size) await log.whenPublished(size);
}

class Walk {
  readonly #running: Running;

  constructor(running: Running) {
    this.#running = running;
  }

  get routes(): readonly Route[] {
    return this.#running.gateway.routes();
  }

  /** Sends a request, and waits until both logs are published, so that map heads have a fixed place. */
  async ask(who: string, method: string, path: string, asked: Ask = {}): Promise<Body> {
    const { gateway, clock } = this.#running;
    clock.pass(STEP_MS);
    const answer = await this.#running.ask(method, path, asked);
    for (const kind of LOG_KINDS) await settled(gateway.logs[kind]);
    const told = UNCOMPARED.test(path) ? '' : ` ${shown(answer)}`;
    process.stdout.write(`${method} ${path} ${who} ${String(answer.status)}${told}\n`);
    return answer.json;
  }
}

/** The ids for requests to the routes of one log, from the story. */
type Ids = Record<string, string>;

/** The story of a tenant in one log: it creates everything that other requests need. */
async function story(walk: Walk, who: string, key: string): Promise<Ids> {
  const post = (path: string, body: object, headers = {}): Promise<Body> =>
    walk.ask(who, 'POST', path, { key, body, headers });
  const exampleOf = (path: string): object =>
    walk.routes.find((one) => one.path === path && one.method === 'POST')?.example as object;
  const entity = `acme-${who}`;
  const published = await post('/api/v1/astl/publish', { entity, preset: 'insurance' });
  await post('/api/v1/astl/heartbeat', { entity, surface: 'policy_bind', acts_total: 0 });
  const session_id = `session-${who}`;
  const classified = await post('/api/v1/classify', { message: 'Hello there', session_id });
  const again = { 'Idempotency-Key': `${who}-1` };
  await post('/api/v1/classify', { message: 'We do not hire women' }, again);
  await post('/api/v1/classify', { message: 'We do not hire women' }, again);
  await post('/api/v1/classify', { message: 'Something else' }, again);
  const twin = await post('/tcb/bind-payment', { payment_hash: sha256(who) });
  const gate = '/api/v1/execute-gate';
  await post(`${gate}/policy`, exampleOf(`${gate}/policy`));
  const permit = await post(gate, exampleOf(gate));
  const { use_secret } = permit.permit ?? {};
  const used = { ...permit.preimage, receipt: permit.decision_entry_id as string, use_secret };
  await post(`${gate}/permits/use`, used);
  await post(`${gate}/permits/use`, used);
  const held = await post(gate, { ...ACT, amount_atomic: 1_000_000_000, currency: 'USDC' });
  const kept = await post(gate, { ...ACT, amount_atomic: 1_000_000_001, currency: 'USDC' });
  await post(`${gate}/holds/${String(held.hold_id)}`, { action: 'release', reason: 'seen' });
  await post('/tcb/counterfactual-replay', {
    entry_id: permit.decision_entry_id as string,
    changes: { amount_atomic: 5_000_000_000 },
  });
  const mandate = await post('/carrier/v1/enroll', { company: `Acme ${who}`, domain: 'hiring' });
  const seal = await post('/api/v1/spoliation-seal', { trigger_event: 'a claim' });
  await post('/api/v1/spoliation-seal/release', { seal_id: seal.seal_id as string, reason: 'a' });
  const partner = await post('/api/v1/relay/enroll', { partner: `Brokers ${who}` });
  const subscription = await post('/signal/trigger/subscriptions', {
    url: 'https://hooks.example/a',
    types: ['trigger.fired'],
  });
  const trigger = await post('/signal/trigger/publish', exampleOf('/signal/trigger/publish'));
  const { trigger_id } = trigger as { trigger_id: string };
  const reading = { metric: 'incident', value: '1' };
  await post('/api/v1/foundry/trigger/fire', { trigger_id, reading });
  const { readings, feed_id } = exampleOf('/api/v1/oracle/aggregate') as Body;
  const wide = (readings as object[]).map((one, i) => ({ ...one, value: String(i + 1) }));
  const disputed = await post('/api/v1/oracle/aggregate', { feed_id, readings: wide });
  await post('/api/v1/oracle/resolve', {
    aggregate_entry_id: disputed.aggregate_entry_id as string,
    value: '2',
    resolver: 'The panel',
  });
  const asked = { entity, surface: 'policy_bind', ...WINDOW };
  const witness = await post('/api/v1/absence/witness', asked);
  const document = witness.witness;
  await post('/standards/absence-ledger/verify', { document, question: document?.question });
  const silence = await post('/silence-receipt', { session_id, context: 'nothing was called' });
  const erased = await post('/api/v1/classify', { message: 'To be erased' });
  await walk.ask(who, 'DELETE', `/api/v1/disclosures/${String(erased.entry_id)}`, { key });
  return {
    session_id,
    entity,
    entry_id: classified.entry_id as string,
    witness_id: String(witness.entry_id),
    twin: twin.entry_id as string,
    hold_id: kept.hold_id as string,
    slug: mandate.slug as string,
    partner: partner.slug as string,
    subscription: subscription.subscription?.id as string,
    manifest: published.surface_manifest_hash as string,
    subject_key: JSON.stringify(silence.receipt?.subject_key ?? ['session', 'none']),
  };
}

/** Acts that must name an entity if the tenant has several. */
const ACTS =
  /^\/api\/v1\/(classify|restraint|execute-gate(\/bind)?|bind-payment)$|^\/tcb\/(bind-payment|restraint-atom)$/;

/** Every route with a body: with its example, without members, with invalid JSON, and without a key. */
async function bodies(walk: Walk, who: string, key: string, { entity }: Ids): Promise<void> {
  for (const { method, path, body, example } of walk.routes) {
    if (method === 'GET' || body === undefined || path.startsWith('/demo/')) continue;
    const at = path.replace(/\{\w+\}/g, NO_ID);
    const named = ACTS.test(path) ? { ...(example as object), entity } : example;
    if (named !== undefined) await walk.ask(who, method, at, { key, body: named });
    await walk.ask(who, method, at, { key, body: {} });
    await walk.ask(who, method, at, { key, body: '{"a":', headers: JSON_TYPE });
    await walk.ask('nobody', method, at, { body: {} });
  }
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Every GET with the ids of the story, as JSON and as a browser requests it. */
async function gets(walk: Walk, who: string, key: string, kind: string, ids: Ids): Promise<void> {
  const proof = { index: '1', from: '2', key: ids['subject_key'] ?? '' };
  const queries: Record<string, Record<string, string>> = {
    '/receipt/lookup': { entry_id: ids['entry_id'] ?? '' },
    '/verify': { entry_id: ids['entry_id'] ?? '' },
    '/api/v1/astl/lookup': { entity: ids['entity'] ?? '' },
    '/api/v1/astl/verify': { surface_manifest_hash: ids['manifest'] ?? '' },
    '/standards/issuer-pays-scoreboard.json': { entry_id: ids['entry_id'] ?? '' },
    '/compliance/eu-ai-act/article-12': { session_id: ids['session_id'] ?? '' },
  };
  const given: Record<string, string> = {
    kind,
    n: '1',
    tile: 'entries/000',
    session_id: ids['session_id'] ?? '',
    entry_id: ids['entry_id'] ?? '',
    hold_id: ids['hold_id'] ?? '',
    slug: ids['slug'] ?? '',
    partner: ids['partner'] ?? '',
    target: 'classify',
    id: ids['subscription'] ?? '',
    week: '2026-W44',
    tenant_id: 'first',
    kid: 'none',
    operation: 'classify',
  };
  for (const { method, path } of walk.routes) {
    if (method !== 'GET') continue;
    const at = path === '/tcb/twin/{entry_id}' ? `/tcb/twin/${ids['twin'] ?? ''}` : path;
    const filled = at.replace(/\{(\w+)\*?\}/g, (_, name: string) => given[name] ?? 'none');
    const query = path.includes('/proof/') && path.startsWith('/log/') ? proof : queries[path];
    const address =
      query === undefined ? filled : `${filled}?${String(new URLSearchParams(query))}`;
    const keyed = path.startsWith('/demo/') ? {} : { key };
    const accept = (type: string): Ask => ({ ...keyed, headers: { Accept: type } });
    await walk.ask(who, 'GET', address, accept('application/json'));
    await walk.ask(who, 'GET', `${filled}?limit=x`, accept('text/html'));
  }
}

async function logs(running: Running): Promise<void> {
  for (const kind of LOG_KINDS) {
    const log = running.gateway.logs[kind];
    await settled(log);
    const { size, note } = log.published();
    for (let index = 0; index < size; index += 1) {
      const text = log.entry(index) ?? '';
      const { type } = JSON.parse(text).statement ?? JSON.parse(text);
      process.stdout.write(`${kind} ${String(index)} ${String(type)} ${sha256(text)}\n`);
    }
    process.stdout.write(`${kind} checkpoint ${note.replaceAll('\n', '\\n')}\n`);
  }
}

const clock = new FixedClock();
const running = await run(
  { CHECKPOINT_INTERVAL_MS: '60000', ANONYMOUS_WRITES: 'allow' },
  { clock },
);
try {
  const walk = new Walk(running);
  const { tenants } = running.gateway;
  const second = await tenants.issue({ tenant: 'second', kind: 'live', role: 'carrier' });
  const stories: [string, string, string][] = [
    ['live', running.live, 'live'],
    ['sandbox', running.sandbox, 'sandbox'],
    ['second', second.key, 'live'],
  ];
  const known: Record<string, Ids> = {};
  for (const [who, key] of stories) known[who] = await story(walk, who, key);
  clock.pass(WEEK_MS);
  for (const [who, key, kind] of stories) {
    await bodies(walk, who, key, known[who] ?? {});
    await gets(walk, who, key, kind, known[who] ?? {});
    // Across tenants: requests with the ids of the other tenant.
    if (who !== 'live') await gets(walk, `${who}-asks-live`, key, kind, known['live'] ?? {});
  }
  for (const { method, path, example } of walk.routes) {
    if (method === 'POST' && path.startsWith('/demo/')) {
      await walk.ask('visitor', method, path.replace(/\{\w+\}/g, NO_ID), { body: example ?? {} });
    }
  }
  await walk.ask('live', 'GET', '/no/such/path', { key: running.live });
  await walk.ask('live', 'PUT', '/api/v1/classify', { key: running.live, body: {} });
  await walk.ask('stranger', 'GET', '/api/v1/me', { key: 'svc_live_nobody' });
  await logs(running);
} finally {
  await running.close();
}
