// Verifies what the service publishes with unchanged third-party libraries: COSE receipts with pycose by the steps of
// log/FORMAT.md §5.6, the key set and a receipt with PyJWT. They run in the Python of ACTLOG_PYTHON, if it has them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';

const PYTHON = process.env['ACTLOG_PYTHON'] ?? '';

const SCRIPT = `
import base64, hashlib, json, sys
import cbor2, jwt, rfc8785
from pycose.keys import CoseKey
from pycose.messages import Sign1Message

given = json.load(sys.stdin)

# The steps of a generic COSE library.
message = Sign1Message.decode(base64.b64decode(given["receipt"]))
entry = message.uhdr["entry"]
[proof] = message.uhdr[396][-1]
size, index, path = cbor2.loads(proof)
node, last = hashlib.sha256(b"\\0" + entry).digest(), size - 1
for other in path:
    if index & 1 or index == last:
        node = hashlib.sha256(b"\\1" + other + node).digest()
        while index and not index & 1:
            index, last = index >> 1, last >> 1
    else:
        node = hashlib.sha256(b"\\1" + node + other).digest()
    index, last = index >> 1, last >> 1
message.payload = node
message.key = CoseKey.decode(base64.b64decode(given["cose_key"]))
cose = message.verify_signature()
message.payload = bytes(32)
forged = message.verify_signature()

# The JSON receipt by a key of the JWKS.
keys = jwt.PyJWKSet.from_dict(given["jwks"])
statement = json.loads(entry)
signature = base64.b64decode(statement.pop("signature"))
key = next(one for one in keys.keys if one.key_id == statement["kid"])
key.key.verify(signature, rfc8785.dumps(statement))
json.dump({"cose": cose, "forged": forged, "keys": len(keys.keys)}, sys.stdout)
`;

/** Runs Python; its standard output, or null if it failed. */
async function python(code: string, input = ''): Promise<string | null> {
  const child = spawn(PYTHON, ['-c', code], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk as string;
  const ended = child.exitCode ?? (await new Promise((resolve) => child.once('close', resolve)));
  return ended === 0 ? text : null;
}

describe('third-party libraries in Python', function () {
  this.timeout(60_000);
  let running: Running | undefined;

  before(async function () {
    const probe = 'import importlib.util as u; print(all(map(u.find_spec, ("pycose", "jwt"))))';
    if (PYTHON === '' || (await python(probe))?.trim() !== 'True') {
      console.log('      skipped: ACTLOG_PYTHON names no Python that has pycose and PyJWT');
      this.skip();
    }
    running = await run();
  });
  after(() => running?.close());

  it('verify a COSE receipt, and the JSON receipt that it carries', async () => {
    assert.ok(running !== undefined);
    const { url, live } = running;
    const asked = { key: live, headers: { Prefer: 'wait=10' } };
    const { entry_id } = (await running.post('/api/v1/classify', { message: 'one' }, asked)).json;
    const bytes = async (path: string): Promise<Buffer> =>
      Buffer.from(await (await fetch(url + path)).arrayBuffer());
    const receipt = await bytes(`/entries/${String(entry_id)}`);
    const { cose_keys } = (await running.get('/export/offline-verify-kit.json')).json;
    const { origin } = running.gateway.logs.live;
    const { kid } = cose_keys.keys.find(
      (key: { purpose: string; origin: string }) => key.purpose === 'cose' && key.origin === origin,
    );
    const cose_key = await bytes(`/.well-known/scitt-keys/${String(kid)}`);
    const jwks = (await running.get('/.well-known/jwks.json')).json;
    const input = { receipt: receipt.toString('base64'), cose_key: cose_key.toString('base64') };
    const text = await python(SCRIPT, JSON.stringify({ ...input, jwks }));
    const found = JSON.parse(text ?? 'null');
    assert.deepEqual(found, { cose: true, forged: false, keys: jwks.keys.length });
  });
});
