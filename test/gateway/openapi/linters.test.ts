// Checks the OpenAPI document of the whole service with third-party linters, and its size.

import assert from 'node:assert/strict';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

describe('the OpenAPI document of the service', function () {
  this.timeout(120_000);
  let running: Running;
  let text: string;
  before(async () => {
    running = await run();
    text = (await running.get('/openapi.json')).text;
  });
  after(() => running.close());

  it('has no error in Redocly', async () => {
    const config = await createConfig({ extends: ['spec'] });
    const problems = await lintFromString({ source: text, config });
    const errors = problems.filter(({ severity }) => severity === 'error');
    const lines = errors.map(({ message, location: [at] }) => `${at?.pointer ?? ''}: ${message}`);
    assert.deepEqual(lines.slice(0, 10), []);
  });

  it('has no error in Spectral', async () => {
    const linter = new spectral.Spectral();
    linter.setRuleset({ extends: [rulesets.oas] } as never);
    const document = new spectral.Document(text, parsers.Json);
    const errors = (await linter.run(document)).filter(({ severity }) => String(severity) === '0');
    const lines = errors.map(({ message, path }) => `${path.join('/')}: ${message}`);
    assert.deepEqual(lines.slice(0, 10), []);
  });

  it('is smaller than that of the first build', () => {
    assert.ok(Buffer.byteLength(text) < 798_000, String(Buffer.byteLength(text)));
  });

  it('is compressed for clients that accept gzip, and plain for others', async () => {
    const url = `${running.url}/openapi.json`;
    const zipped = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(zipped.headers.get('content-encoding'), 'gzip');
    assert.equal(zipped.headers.get('vary'), 'Accept-Encoding');
    assert.ok(
      Number(zipped.headers.get('content-length')) < 110_000,
      zipped.headers.get('content-length') ?? '',
    );
    assert.equal(await zipped.text(), text);
    const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
    assert.equal(plain.headers.get('content-encoding'), null);
    assert.notEqual(plain.headers.get('etag'), zipped.headers.get('etag'));
    assert.equal(await plain.text(), text);
  });
});
