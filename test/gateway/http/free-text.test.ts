// Free text of a caller, sent to every declared POST route, is in no entry. The members are found by their schemas, so
// a new route is tested as soon as it has an example. gateway/API.md §1.2;
// log/FORMAT.md §2.

import assert from 'node:assert/strict';
import type { Log } from '../../../log/index.ts';
import type { Json, JsonObject, Route } from '../../../plugins/contract/index.ts';
import { actionOf } from '../../../plugins/require-receipt/action.ts';
import { FOUNDRY_BODIES } from '../../plugins/foundry/bodies.ts';
import { run } from '../running.ts';
import type { Answer, Running } from '../running.ts';

/** The mark that no entry may contain, in any case. */
const MARK = 'Zebra Quagga';
const MARKED = /zebra|quagga/i;

/** Types whose entries contain the public name of a partner or issuer (gateway/API.md §17). */
const PUBLIC_NAMES: Readonly<Record<string, readonly string[]>> = {
  'relay.partner.v1': ['slug', 'links'],
  'issuer-pays.listing.v1': ['slug', 'links'],
};

/** Routes that accept free text and log a commitment to it; other routes may accept listed names only. */
const TAKING = [
  ...['/api/v1/classify', '/silence-receipt', '/api/v1/bind-payment', '/tcb/bind-payment'],
  ...['/api/v1/restraint', '/tcb/restraint-atom', '/tcb/counterfactual-replay'],
  ...['/api/v1/spoliation-seal', '/api/v1/execute-gate', '/api/v1/execute-gate/bind'],
  ...['/api/v1/execute-gate/holds/{hold_id}', '/api/v1/execute-gate/permits/use'],
  ...['/carrier/v1/enroll', '/pas/v1/bind-check', '/compliance/eu-ai-act/article-12/seal'],
  ...['/api/v1/require-receipt/act', '/api/v1/orn/sharp', '/api/v1/orn/backprop'],
  ...['/api/v1/orn/declare', '/api/v1/oracle/resolve', '/api/v1/custody/attest'],
  ...['/api/v1/conformity/generate', '/api/v1/inference/chat/completions'],
  ...['/api/v1/foundry/pipeline/run', '/api/v1/relay/enroll'],
  '/api/v1/anchors',
];

type Schema = JsonObject;

const isFree = (schema: Schema): boolean =>
  schema['type'] === 'string' &&
  ['pattern', 'format', 'enum', 'const'].every((rule) => schema[rule] === undefined);

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value of the schema with the mark in each free text; undefined if the schema has no free text. */
function marked(schema: Schema, example: Json | undefined, place: string): Json | undefined {
  const { anyOf, properties, items } = schema as {
    readonly anyOf?: readonly Schema[];
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
  };
  if (anyOf !== undefined) {
    for (const variant of anyOf) {
      const found = marked(variant, example, place);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (isFree(schema)) return `${MARK} ${place}`.slice(0, (schema['maxLength'] ?? 512) as number);
  if (schema['type'] === 'array' && isObject(items)) {
    const given = Array.isArray(example) ? (example as Json[]) : [undefined];
    const found = given.map((item, i) => marked(items, item, `${place} ${String(i)}`) ?? item);
    return found.some((item, i) => item !== given[i]) ? (found as Json) : undefined;
  }
  if (schema['type'] !== 'object') return undefined;
  const given = isObject(example) ? example : {};
  if (properties === undefined || Object.keys(properties).length === 0) {
    return { ...given, [`${MARK} name`]: `${MARK} ${place}` };
  }
  const found = Object.entries(properties).flatMap(([name, member]): [string, Json][] => {
    // A use secret must be the one that the service created.
    if (name === 'use_secret') return [];
    const value = marked(member, given[name], `${place} ${name}`);
    return value === undefined ? [] : [[name, value]];
  });
  return found.length === 0 ? undefined : { ...given, ...Object.fromEntries(found) };
}

describe('free text of callers', function () {
  this.timeout(240_000);
  let running: Running;
  before(async () => {
    running = await run();
  });
  after(() => running.close());

  const routes = (): readonly Route[] =>
    running.gateway
      .routes()
      .filter(({ method, body, bytes }) => method === 'POST' && body !== undefined && !bytes);

  /** Bodies for routes whose example needs another entry first, by path. */
  const BODIES: Readonly<Record<string, (running: Running) => Promise<object>>> = {
    ...FOUNDRY_BODIES,
    async '/tcb/counterfactual-replay'({ post, sandbox }) {
      const act = { action_type: 'payment.release', agent_id: 'a' };
      const { json } = await post('/api/v1/execute-gate', act, { key: sandbox });
      return {
        entry_id: json.decision_entry_id as string,
        changes: { message: `${MARK} changed` },
      };
    },
    async '/api/v1/execute-gate/permits/use'() {
      const act = { action_type: 'require_receipt.act', agent_id: `${MARK} agent`, scope: MARK };
      const { preimage, decision_entry_id, permit } = await gate(permitting, act);
      const { use_secret } = permit as JsonObject;
      return { ...preimage, receipt: decision_entry_id as string, use_secret: use_secret! };
    },
    '/api/v1/orn/backprop': () =>
      Promise.resolve({
        nodes: [{ id: `${MARK} one` }, { id: `${MARK} two` }],
        edges: [{ from: `${MARK} one`, to: `${MARK} two`, weight: 1 }],
        sink: `${MARK} two`,
        liability_usd: 90,
      }),
    '/api/v1/execute-gate/holds/{hold_id}': () =>
      Promise.resolve({ action: 'refuse', reason: 'no' }),
    '/api/v1/require-receipt/act': () => Promise.resolve({ reference: 'order' }),
  };

  const exampleOf = async (route: Route): Promise<JsonObject | undefined> =>
    ((await BODIES[route.path]?.(running)) ?? route.example) as JsonObject | undefined;

  /**
   * Sends all marks at once, then one member at a time for members that accept no mark. Such a member must be refused
   * by name; returns whether any mark was accepted.
   */
  async function drive(route: Route, example: JsonObject): Promise<boolean> {
    const schema = route.body as unknown as Schema;
    const whole = (marked(schema, example, '') ?? example) as JsonObject;
    const changed = Object.keys(whole).filter((name) => whole[name] !== example[name]);
    const alone = changed.map((name) => ({ ...example, [name]: whole[name] ?? null }));
    let taken = false;
    for (const body of [whole, ...alone, example]) {
      if (!MARKED.test(JSON.stringify(body))) continue;
      const as = route.path.startsWith('/demo/') ? {} : { key: running.sandbox };
      const headers = await headersOf(route, body);
      const path = await pathOf(route);
      const { status, json, text } = await running.post(path, body, { ...as, headers });
      if (status === 200) taken = true;
      else {
        const what = `${route.path}: ${text}`;
        // 503: a model that only an upstream has.
        assert.ok([400, 404, 409, 503].includes(status), what);
        if (status !== 503) assert.equal(typeof json.error.param, 'string', what);
      }
    }
    return taken;
  }

  const permitting = {
    rules: [{ id: 'all', effect: 'allow', action_types: ['require_receipt.act'] }],
  };
  const holding = { rules: [{ id: 'all', effect: 'hold', action_types: ['payment.release'] }] };
  const gate = async (policy: object, act: object): Promise<Answer['json']> => {
    const { sandbox: key } = running;
    await running.post('/api/v1/execute-gate/policy', policy, { key });
    const headers = { Prefer: 'wait=10' };
    return (await running.post('/api/v1/execute-gate', act, { key, headers })).json;
  };

  const heldVisitor = async (act: object): Promise<Answer['json']> => {
    await running.post('/demo/calls/policy', {});
    const large = { ...act, amount_atomic: 1_000_000_000, currency: 'USDC' };
    return (await running.post('/demo/calls/gate', large)).json;
  };

  async function pathOf({ path }: Route): Promise<string> {
    if (!path.includes('{hold_id}')) return path;
    const act = { action_type: 'payment.release', agent_id: `${MARK} agent` };
    const held = path.startsWith('/demo/') ? await heldVisitor(act) : await gate(holding, act);
    return path.replace('{hold_id}', held.hold_id as string);
  }

  async function headersOf({ path }: Route, fields: JsonObject): Promise<Record<string, string>> {
    if (path !== '/api/v1/require-receipt/act') return {};
    const action_type = 'require_receipt.act';
    const asked = { audience: 'http://test.example', action_type, method: 'POST', target: path };
    const { action_hash } = actionOf({ ...asked, fields });
    const act = { action_type, agent_id: `${MARK} agent`, scope: action_hash };
    const { receipt, preimage } = await gate(permitting, act);
    const presented = JSON.stringify({ receipt, preimage });
    return { 'X-Receipt': Buffer.from(presented).toString('base64url') };
  }

  it('is sent to every route that appends, and is in no entry', async () => {
    const took = new Set<string>();
    for (const route of routes()) {
      const example = await exampleOf(route);
      if (example !== undefined && (await drive(route, example))) took.add(route.path);
    }
    assert.deepEqual(
      TAKING.filter((path) => !took.has(path)),
      [],
    );
    const { live, sandbox } = running.gateway.logs;
    const partners = [...entriesOf(sandbox)].filter((text) =>
      text.includes('"slug":"zebra-quagga'),
    );
    assert.ok(partners.length > 0, 'the scan can find the mark');
    for (const log of [live, sandbox]) for (const text of entriesOf(log)) assertUnmarked(text);
  });

  it('of a path, and of a GET that appends, is in no entry', async () => {
    const { sandbox: key } = running;
    const mark = encodeURIComponent(MARK);
    for (const path of [
      `/carrier/v1/insured/${mark}/compliance`,
      `/compliance/eu-ai-act/article-12?session_id=${mark}`,
      `/compliance/naic/exhibit-pack/${mark}`,
    ]) {
      const { status, text } = await running.get(path, { key });
      assert.equal(status, 200, text);
    }
    for (const text of entriesOf(running.gateway.logs.sandbox)) assertUnmarked(text);
  });
});

function* entriesOf(log: Log): Generator<string> {
  for (let index = 0; index < log.size(); index += 1) yield log.entry(index) ?? '';
}

function assertUnmarked(text: string): void {
  if (!MARKED.test(text)) return;
  const statement = JSON.parse(text) as Record<string, Json>;
  const names = PUBLIC_NAMES[statement['type'] as string] ?? [];
  const rest = Object.entries(statement).filter(([name]) => !names.includes(name));
  assert.doesNotMatch(JSON.stringify(rest), MARKED);
}
