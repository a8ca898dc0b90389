// All lists of the service have the same form and are paged in the same way. gateway/API.md §4.4.

import assert from 'node:assert/strict';
import { commandVerbs } from '../../gateway/host/commands.ts';
import type { Body } from '../support/body.ts';
import { ok, run } from './running.ts';
import type { Running } from './running.ts';

const WEEK_MS = 7 * 86_400_000;

/** Answers with pages or rows that are not lists, because a standard or log/FORMAT.md defines their form. */
const FIXED = [
  '/crypto/jwks.json',
  '/log/{kind}/proof/lookup',
  '/log/{kind}/{n}/proof/lookup',
  '/api/v1/sessions/{session_id}/proof',
];

/** Lists that the acts below fill with several rows, with their former names. */
const FILLED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/api/v1/astl/log.json': { data: 'manifests' },
  '/signal/trigger/feed.json': { data: 'events' },
  '/api/v1/absence/ledger': { data: 'witnesses' },
  '/api/v1/execute-gate/holds': { data: 'holds', next_cursor: 'next', cursor: 'after' },
  '/api/v1/clearing/slots': { data: 'slots' },
  '/api/v1/clear/usage/history': { data: 'months', limit: 'months' },
  '/api/v1/relay/network': { data: 'page' },
  '/signal/trigger/subscriptions': { data: 'subscriptions' },
  '/api/v1/clearing/invoices/{month}/acts': {},
  '/api/v1/anchors': {},
  '/compliance/eu-ai-act/article-73': {},
};

interface Schema {
  readonly type?: string;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** A GET that answers an object, from the OpenAPI document. */
interface Get {
  readonly path: string;
  readonly parameters: readonly string[];
  readonly schema: Schema;
}

describe('lists', function () {
  this.timeout(60_000);
  let running: Running;
  let document: Body;
  /** The month of the acts. */
  let month: string;
  before(async () => {
    running = await run({ LOG_ORIGIN: 'test.example' });
    month = new Date(running.clock.wall()).toISOString().slice(0, 7);
    await fill(running);
    document = ok(await running.get('/openapi.json'));
  });
  after(() => running.close());

  /** The value, or what its `$ref` refers to in the document. */
  const resolved = (value: Body): Body =>
    typeof value?.$ref === 'string'
      ? (value.$ref as string)
          .slice(2)
          .split('/')
          .reduce((at: Body, name) => at[name], document)
      : value;
  const gets = (): Get[] =>
    Object.entries(document.paths as Record<string, Body>).flatMap(([path, { get }]) => {
      const answer = resolved(get?.responses['200']);
      const schema = answer?.content?.['application/json']?.schema as Schema | undefined;
      if (schema === undefined) return [];
      const parameters = ((get.parameters ?? []) as Body[]).map((one) => resolved(one).name);
      return [{ path, parameters, schema: resolved(schema) }];
    });

  /** Whether an answer is a list by its members, whatever their names are. */
  function isList({ parameters, schema: { properties = {} } }: Get): boolean {
    if (['limit', 'cursor'].some((name) => parameters.includes(name))) return true;
    if (['next_cursor', 'has_more'].some((name) => name in properties)) return true;
    const [only, ...others] = Object.entries(properties).filter(
      ([name]) => name !== 'ok' && name !== 'schema',
    );
    if (only === undefined || others.length > 0 || only[1].type !== 'array') return false;
    return resolved(only[1].items ?? {}).type === 'object';
  }
  const lists = (): Get[] => gets().filter((get) => isList(get) && !FIXED.includes(get.path));
  const ask = (path: string, query: Readonly<Record<string, string>>) =>
    running.get(`${path.replace('{month}', month)}?${new URLSearchParams(query).toString()}`, {
      key: running.live,
    });

  it('are declared in the same form', () => {
    const found = lists();
    const paths = found.map(({ path }) => path);
    for (const path of Object.keys(FILLED)) assert.ok(paths.includes(path), path);
    for (const path of FIXED)
      assert.ok(
        gets().some((get) => get.path === path),
        path,
      );
    for (const { path, parameters, schema } of found) {
      for (const name of ['limit', 'cursor']) assert.ok(parameters.includes(name), path);
      for (const name of ['data', 'has_more', 'next_cursor']) {
        assert.ok(schema.required?.includes(name), `${path}: ${name}`);
      }
    }
  });

  it('are paged by limit and cursor, without a gap and without a repetition', async () => {
    for (const { path } of lists()) {
      const whole = ok(await ask(path, { limit: '100' }));
      assert.equal(whole.has_more, false, path);
      assert.ok(whole.data.length >= (path in FILLED ? 2 : 0), `${path} has rows`);
      const rows: unknown[] = [];
      for (let query: Record<string, string> = { limit: '1' }; ;) {
        const page = ok(await ask(path, query));
        assert.ok(page.data.length <= 1, path);
        rows.push(...page.data);
        if (page.has_more === false) break;
        query = { limit: '1', cursor: page.next_cursor as string };
      }
      assert.deepEqual(rows.map(timeless), (whole.data as unknown[]).map(timeless), path);
    }
  });

  it('refuse a limit out of bounds with the same message if their pages carry proofs', async () => {
    for (const [path, query] of [
      ['/log/live/proof/lookup', { key: '["session","s"]' }],
      ['/api/v1/sessions/s/proof', {}],
    ] as const) {
      const { status, json } = await ask(path, { ...query, limit: '101' });
      assert.equal(status, 400, path);
      assert.equal(json.error.message, 'limit must be from 1 to 100', path);
    }
  });

  it('refuse a limit out of bounds and a cursor of another list', async () => {
    for (const { path } of lists()) {
      for (const [name, value] of [
        ['limit', '0'],
        ['limit', '101'],
        ['limit', 'x'],
        ['cursor', 'AAAA'],
        ['cursor', Buffer.from('\n').toString('base64url')],
      ] as const) {
        const { status, json } = await ask(path, { [name]: value });
        assert.deepEqual(
          [status, json.error.code, json.error.param],
          [400, 'parameter_invalid', name],
          path,
        );
        if (value === '101') assert.equal(json.error.message, 'limit must be from 1 to 100', path);
      }
    }
  });

  it('answer under their former names too', async () => {
    for (const [path, former] of Object.entries(FILLED)) {
      const { data, next_cursor, cursor = 'cursor', limit = 'limit' } = former;
      const first = ok(await ask(path, { [limit]: '1' }));
      assert.equal(first.data.length, 1, path);
      if (data !== undefined) assert.deepEqual(first[data], first.data, path);
      if (next_cursor !== undefined) assert.equal(first[next_cursor], first.next_cursor, path);
      const second = ok(await ask(path, { [limit]: '1', [cursor]: first.next_cursor as string }));
      assert.equal(second.data.length, 1, path);
      assert.notDeepEqual(second.data, first.data, path);
    }
  });
});

/** A row without the members that change with time. */
const timeless = (row: unknown): unknown => ({
  ...(row as Body),
  remaining_ms: undefined,
  last_used_at_ms: undefined,
});

/** Acts that create at least two rows in every list of `FILLED`. */
async function fill(running: Running): Promise<void> {
  const key = running.live;
  const headers = { Prefer: 'wait=10' };
  const post = async (path: string, body: object): Promise<Body> =>
    ok(await running.post(path, body, { key, headers }));
  const close = async (): Promise<void> => {
    running.clock.pass(WEEK_MS);
    await commandVerbs(running.gateway)['clearing close']?.({});
  };
  for (const partner of ['One', 'Two']) await post('/api/v1/relay/enroll', { partner });
  for (const entity of ['first', 'second']) {
    await post('/api/v1/astl/publish', { entity, surfaces: ['policy_bind'] });
  }
  const from_ms = running.clock.wall();
  for (const template_id of ['ai_model_change', 'bind_gate_hold']) {
    await post('/signal/trigger/publish', { template_id, enabled_exposure_usd: '1' });
  }
  for (const digit of ['a', 'b']) {
    const sha256 = digit.repeat(64);
    await post('/api/v1/anchors', { sha256, media_type: 'text/plain', entity: null });
  }
  for (const name of ['a', 'b']) {
    const url = `https://hooks.example/${name}`;
    await post('/signal/trigger/subscriptions', { url, types: ['trigger.fired'] });
    running.clock.pass(1000);
  }
  const to_ms = running.clock.wall();
  running.clock.pass(5000);
  for (const entity of ['first', 'second']) {
    const question = { entity, surface: 'policy_bind', from_ms, to_ms };
    await post('/api/v1/absence/witness', question);
  }
  // Five weeks, so that a month ends too.
  for (let week = 0; week < 5; week++) await close();
  await post('/api/v1/execute-gate/policy', { rules: [{ id: 'all', effect: 'hold' }] });
  for (const action_type of ['one', 'two']) {
    const act = { action_type, agent_id: 'agent', entity: null };
    await post('/api/v1/execute-gate', act);
    await post('/compliance/eu-ai-act/article-12/seal', { event_type: 'incident' });
  }
}
