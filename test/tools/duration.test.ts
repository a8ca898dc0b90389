// Parsing of durations and points in time on the command line.

import assert from 'node:assert/strict';
import { parseInstant, parseSpan } from '../../tools/duration.ts';

describe('spans of time', () => {
  for (const [text, ms] of [
    ['250ms', 250],
    ['90s', 90_000],
    ['5m', 300_000],
    ['12h', 43_200_000],
    ['30d', 2_592_000_000],
  ] as const) {
    it(`reads ${text}`, () => {
      assert.equal(parseSpan(text), ms);
    });
  }
  for (const text of ['', '5', 'm', '-5m', '1.5h', '5 m', '5w', '1234567890s']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseSpan(text), { name: 'CommandError', exit: 2 });
    });
  }
});

describe('points of time', () => {
  for (const [text, ms] of [
    ['0', 0],
    ['1790000000000', 1_790_000_000_000],
    ['1970-01-02', 86_400_000],
    ['1970-01-01T00:00:01Z', 1000],
    ['1970-01-01T01:00:00.5+01:00', 500],
  ] as const) {
    it(`reads ${text}`, () => {
      assert.equal(parseInstant(text), ms);
    });
  }
  // Without an offset the time would depend on the machine that parses it.
  for (const text of [
    '',
    '-1',
    '1.5',
    'now',
    '2026-13-01',
    '2026-05-01T00:00:00',
    '99999999999999999',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseInstant(text), { name: 'CommandError', exit: 2 });
    });
  }
});
