// Runs unchanged third-party libraries and witnesses against a service: torchwood, Tessera's client and fsck, go-cose,
// go-jose and standardwebhooks in Go (test/clients/interop-go), and litewitness, whose cosignature the policy demands. The
// module proxy of Go brings them. omniwitness takes another minute to build: `npm run test:interop` runs it too.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { cp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { native, openCheckpoint, parsePolicy } from '../../log/index.ts';
import { mlDsaPublicKey } from '../../log/crypto/ml-dsa.ts';
import { COSIGNER_KEY, formatVkey, ML_DSA_KEY } from '../../log/note/note.ts';
import { countQuorum } from '../../log/note/policy.ts';
import { cosignerKey } from '../gateway/witnesses/answering.ts';
import { startReceiver } from '../gateway/egress/receiver.ts';
import type { Receiver } from '../gateway/egress/receiver.ts';
import { openedWithSecret, runSending, until } from '../gateway/webhooks/receiving.ts';
import { ok } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { freePort } from '../support/free-port.ts';
import { goMissing } from './client.ts';

const MODULE = fileURLToPath(new URL('interop-go', import.meta.url));
const LITEWITNESS = 'filippo.io/torchwood/cmd/litewitness';
const NAME = 'witness.example/litewitness';
const SEED = 77;
const OMNIWITNESS =
  'github.com/transparency-dev/witness/cmd/omniwitness@v0.0.0-20260720115447-2e1c6971d19e';
const WHOLE = process.env['ACTLOG_INTEROP'] === 'all';

/** Why the third-party programs cannot be built here; null if they are in this folder. */
function built(folder: string): string | null {
  const missing = goMissing();
  if (missing !== null) return missing;
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly' };
  try {
    execFileSync('go', ['build', '-o', `${folder}/`, '.', LITEWITNESS], {
      cwd: MODULE,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return null;
  } catch (error) {
    const { stderr } = error as { readonly stderr?: Buffer };
    return `go build failed: ${stderr?.toString().trim() ?? String(error)}`;
  }
}

describe('third-party libraries and witnesses in Go', function () {
  this.timeout(600_000);

  const folder = mkdtempSync(join(tmpdir(), 'actlog-interop-'));
  const children: ChildProcess[] = [];
  let running: Running | undefined;
  let receiver: Receiver | undefined;

  /** Starts one of the programs; it is killed at the end. */
  function start(program: string, args: readonly string[], env: object = {}): ChildProcess {
    const child = spawn(join(folder, program), args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, ...env },
    });
    children.push(child);
    return child;
  }

  const interop = (...args: readonly string[]): Promise<{ stdout: string }> =>
    promisify(execFile)(join(folder, 'interop'), [...args]);

  before(async function () {
    const missing = built(folder);
    if (missing === null) return;
    if (process.env['CI'] !== undefined && goMissing() === null) throw new Error(missing);
    console.log(`      skipped: ${missing}`);
    this.skip();
  });
  after(async () => {
    await running?.close();
    await receiver?.close();
    for (const child of children) {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await rm(folder, { recursive: true });
  });

  /** Starts litewitness with the key of a seed, and returns its URL. */
  async function litewitness(database: string): Promise<string> {
    const socket = join(folder, 'agent.sock');
    const agent = start('interop', ['agent', socket, Buffer.alloc(32, SEED).toString('hex')]);
    const [fingerprint] = (await once(createInterface({ input: agent.stdout! }), 'line')) as [
      string,
    ];
    const listen = `127.0.0.1:${String(await freePort())}`;
    start('litewitness', [
      ...['-name', NAME, '-db', database, '-ssh-agent', socket],
      ...['-key', fingerprint, '-listen', listen],
    ]);
    await until(() =>
      fetch(`http://${listen}/`).then(
        ({ ok: answered }) => answered,
        () => false,
      ),
    );
    return `http://${listen}`;
  }

  it('verify what a service publishes, and cosign its checkpoints', async () => {
    const env = { CHECKPOINT_ML_DSA: 'on' };
    const first = await runSending(env);
    const { live: key, data } = first;
    const { origin, vkey } = first.gateway.logs.live;
    await first.close(true);

    const database = join(folder, 'litewitness.db');
    const address = await litewitness(database);
    await interop('add-log', database, origin, vkey);
    const witness = cosignerKey(NAME, SEED);
    const file = join(folder, 'policy');
    await writeFile(file, `log ${vkey}\nwitness lite ${witness} ${address}\nquorum lite\n`);
    running = await runSending({ ...env, DATA_DIR: data, WITNESS_POLICY: file });
    receiver = await startReceiver();

    const hook = { url: receiver.url(), types: ['trigger.armed'], secret: true };
    const { secret } = ok(await running.post('/signal/trigger/subscriptions', hook, { key }));
    ok(await running.post('/signal/trigger/publish', { template_id: 'incident_sealed' }, { key }));
    const [message] = await receiver.whenReceived(1);
    openedWithSecret(secret, message!);

    const log = running.gateway.logs.live;
    const asked = { key, headers: { Prefer: 'wait=10' } };
    const older = (await running.get('/log/live/checkpoint')).text;
    const post = (message: string) => running!.post('/api/v1/classify', { message }, { key });
    // More than a full tile.
    (await Promise.all(Array.from({ length: 300 }, (_, i) => post(`message ${String(i)}`)))).map(
      ok,
    );
    const { entry_id, log: place } = ok(
      await running.post('/api/v1/classify', { message: 'the last one' }, asked),
    );
    await until(() => log.published().size > (place.index as number));
    const found = ok(await running.get(`/receipt/lookup?entry_id=${String(entry_id)}`));
    const { note: checkpoint, size } = log.published();

    // The cosignature of litewitness is in the checkpoint and meets the policy of the kit.
    const kit = (await running.get('/export/offline-verify-kit.json')).json;
    const { policy } = kit.logs.find((one: { origin: string }) => one.origin === origin);
    const { cosignatures } = openCheckpoint(native, checkpoint, {
      origin,
      vkey,
      cosigners: [witness],
    });
    assert.equal(cosignatures[0]?.name, NAME);
    assert.ok(countQuorum(parsePolicy(native, policy), cosignatures));

    const bytes = async (path: string): Promise<string> =>
      Buffer.from(await (await fetch(running!.url + path)).arrayBuffer()).toString('base64');
    const sizeOf = (note: string): number => Number(note.split('\n')[1]);
    const proofs = `/log/live/proof`;
    const { path: consistency } = ok(
      await running.get(`${proofs}/consistency?from=${String(sizeOf(older))}&to=${String(size)}`),
    );
    const inclusion = ok(
      await running.get(`${proofs}/inclusion?index=${String(place.index)}&size=${String(size)}`),
    );
    const cose = kit.cose_keys.keys.find(
      (one: { purpose: string; origin: string }) => one.purpose === 'cose' && one.origin === origin,
    );
    const artefacts = {
      url: `${running.url}/log/live/1`,
      ...{ origin, vkey, policy, checkpoint, older, consistency },
      entry: inclusion.entry,
      index: inclusion.index,
      path: inclusion.path,
      tlog_proof: found.proof.tlog_proof,
      receipt: await bytes(`/entries/${String(entry_id)}`),
      cose_key: await bytes(`/.well-known/scitt-keys/${String(cose.kid)}`),
      jwks: (await running.get('/.well-known/jwks.json')).json,
      webhook: { secret, headers: message!.headers, body: message!.body },
    };
    await writeFile(join(folder, 'artefacts.json'), JSON.stringify(artefacts));
    await writeFile(join(folder, 'kit.json'), JSON.stringify(kit));
    await writeFile(join(folder, 'lookup.json'), JSON.stringify(found));
    const { stdout } = await interop('check', folder);
    const said = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly tool: string; readonly error?: string });
    assert.deepEqual(
      said.filter(({ error }) => error !== undefined),
      [],
    );
    assert.equal(said.length, 9);
  });

  it(`cosign with both keys of omniwitness${WHOLE ? '' : ' (skipped: npm run test:interop asks for it)'}`, async function () {
    if (!WHOLE) this.skip();
    const install = { ...process.env, GOTOOLCHAIN: 'local', GOBIN: folder };
    await promisify(execFile)('go', ['install', OMNIWITNESS], { env: install });
    const first = await runSending();
    const { live: key, data } = first;
    const { origin, vkey } = first.gateway.logs.live;
    await first.close(true);

    const name = 'witness.example/omniwitness';
    const seed = Buffer.alloc(32, SEED);
    const skey = (type: number): string =>
      `PRIVATE+KEY+${name}+00000000+${Buffer.concat([Buffer.of(type), seed]).toString('base64')}`;
    const paths = [COSIGNER_KEY, ML_DSA_KEY].map((type) => join(folder, `key-${String(type)}`));
    await writeFile(paths[0]!, skey(COSIGNER_KEY));
    await writeFile(paths[1]!, skey(ML_DSA_KEY));
    const logs = join(folder, 'logs.yaml');
    const known = `{Origin: "${origin}", URL: "http://127.0.0.1/", PublicKey: "${vkey}", Feeder: none}`;
    await writeFile(logs, `Logs:\n  - ${known}\n`);
    const listen = `127.0.0.1:${String(await freePort())}`;
    const keys = paths.flatMap((path) => ['-private_key_path', path]);
    const metrics = `127.0.0.1:${String(await freePort())}`;
    // It has a list of public logs, which it would poll; a proxy that does not exist prevents requests to other
    // hosts.
    start(
      'omniwitness',
      [...keys, '-additional_logs', logs, '-listen', listen, '-metrics_listen', metrics],
      { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' },
    );
    await until(() =>
      fetch(`http://${listen}/`).then(
        () => true,
        () => false,
      ),
    );
    const cosigners = [
      cosignerKey(name, SEED),
      formatVkey(native, name, ML_DSA_KEY, mlDsaPublicKey(seed)),
    ];
    const lines = cosigners.map((one, i) => `witness key${String(i)} ${one} http://${listen}`);
    const file = join(folder, 'omniwitness-policy');
    const quorum = 'group both all key0 key1\nquorum both\n';
    await writeFile(file, `log ${vkey}\n${lines.join('\n')}\n${quorum}`);
    const service = await runSending({ DATA_DIR: data, WITNESS_POLICY: file });
    try {
      const asked = { key, headers: { Prefer: 'wait=10' } };
      const { log: place } = ok(await service.post('/api/v1/classify', { message: 'a' }, asked));
      const log = service.gateway.logs.live;
      await until(() => log.published().size > (place.index as number));
      const { note } = log.published();
      const { cosignatures } = openCheckpoint(native, note, { origin, vkey, cosigners });
      assert.deepEqual(
        cosignatures.map((one) => one.name),
        [name, name],
      );
      const { policy } = ok(await service.get('/export/offline-verify-kit.json')).logs[0];
      assert.ok(countQuorum(parsePolicy(native, policy), cosignatures));
    } finally {
      await service.close();
    }
  });

  it('are not needed by the Go verifier, which one command builds from a copy of its folder', async () => {
    const copy = join(folder, 'go');
    await cp(fileURLToPath(new URL('../../tools/clients/go', import.meta.url)), copy, {
      recursive: true,
    });
    const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly' };
    const args = ['run', './cmd/actlog-verify', '../lookup.json', '--kit', '../kit.json'];
    const { stdout } = await promisify(execFile)('go', args, { cwd: copy, env });
    assert.match(stdout, /tree of \d+ entries, signed with ML-DSA-44 too/);
    assert.match(stdout, /cosignatures +1 of the operator policy/);
    assert.match(stdout, /\nVALID: the log signed this entry, and it is in the tree of/);
  });
});
