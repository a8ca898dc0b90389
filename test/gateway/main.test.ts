// What the gateway writes to its log on standard output, and what it never writes.

import assert from 'node:assert/strict';
import { openLogger } from '../../gateway/main.ts';

/** The lines that a logger writes. */
function lines(level: 'info' | 'warn', write: (logger: ReturnType<typeof openLogger>) => void) {
  const texts: string[] = [];
  write(openLogger({ LOG_LEVEL: level }, { write: (text: string) => void texts.push(text) }));
  return texts.map((text) => JSON.parse(text) as Record<string, unknown>);
}

describe('the log of the gateway', () => {
  it('is a line of JSON for each event of at least the configured level', () => {
    const [line, ...rest] = lines('warn', (logger) => {
      logger.info('quiet');
      logger.warn({ request_id: 'req_1' }, 'loud');
    });
    assert.deepEqual([line?.['msg'], line?.['request_id'], rest.length], ['loud', 'req_1', 0]);
    assert.equal(typeof line?.['time'], 'number');
  });

  it('contains no secret, also if a call passes one', () => {
    const secret = 'svc_live_secret';
    const named = { key: secret, authorization: secret, body: { a: secret }, passphrase: secret };
    const [line] = lines('info', (logger) => logger.info({ ...named, status: 200 }, 'request'));
    assert.doesNotMatch(JSON.stringify(line), /secret/);
    assert.deepEqual([line?.['key'], line?.['status']], ['[redacted]', 200]);
  });

  it('shows message and stack of an error, and no other member', () => {
    const error = Object.assign(new TypeError('it broke'), { code: 'E_X', headers: 'hidden' });
    const [line] = lines('info', (logger) => logger.error({ err: error }, 'failed'));
    const err = line?.['err'] as Record<string, unknown>;
    assert.deepEqual(Object.keys(err), ['name', 'code', 'message', 'stack']);
    assert.doesNotMatch(JSON.stringify(line), /hidden/);
  });
});
