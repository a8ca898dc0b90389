// How the bench computes and prints its figures. The measurements themselves are not tested, because they depend on the
// machine.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { builtLog } from '../../tools/bench/built-log.ts';
import { startService } from '../../tools/bench/child.ts';
import { interleave, median, quotient, reaches, stealMeter } from '../../tools/bench/figure.ts';
import type { Figure } from '../../tools/bench/figure.ts';
import { headersOf } from '../../tools/bench/post.ts';
import { NODE_ARGS, programOf } from '../../tools/bench/program.ts';
import { runBenches } from '../../tools/bench/run.ts';
import { jsonOf, lineOf, tableOf } from '../../tools/bench/table.ts';

const figure: Figure = {
  name: 'some.figure',
  what: 'this ÷ that',
  unit: 'ratio',
  better: 'higher',
  at_least: 0.4,
  aim: 0.7,
  value: 0.5,
  parts: { this: 12_345, that: 0.5 },
  steal: 0.0123,
};
const lower: Figure = { ...figure, unit: 'ms', better: 'lower', at_least: 20, aim: 5, value: 25 };

describe('bench figures', () => {
  it('meet a limit from above or below, the limit included', () => {
    assert.equal(reaches(figure, figure.at_least), true);
    assert.equal(reaches(figure, figure.aim), false);
    assert.equal(reaches(lower, lower.at_least), false);
    assert.equal(reaches({ ...lower, value: 20 }, 20), true);
    assert.equal(reaches({ ...figure, value: Number.NaN }, 0.4), false);
  });

  it('are medians', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 3, 2]), 2.5);
    assert.ok(Number.isNaN(median([])));
  });

  it('are measured on a service that is started as by `npm start`', () => {
    const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    const { scripts } = JSON.parse(read('package.json')) as {
      scripts: Readonly<Record<'start' | 'bench', string>>;
    };
    const args = NODE_ARGS.join(' ');
    for (const text of [scripts.start, scripts.bench, read('tools/OPERATING.md')]) {
      assert.ok(text.includes(`node ${args} `), args);
    }
  });

  it('alternate the two sides: A B A B', async () => {
    const turns: string[] = [];
    let n = 0;
    const measure = (name: string) => async () => {
      turns.push(name);
      n += 1;
      return n;
    };
    const parts = await interleave(3, { a: measure('a'), b: measure('b') });
    assert.deepEqual(turns, ['a', 'b', 'a', 'b', 'a', 'b']);
    assert.deepEqual(parts, { a: 3, b: 4 });
  });

  it('are quotients within one round, and each side comes first in every second round', async () => {
    const order: string[] = [];
    const from = (name: string, values: number[]) => () => {
      order.push(name);
      return Promise.resolve(values.shift() ?? 0);
    };
    const [over, under] = [from('over', [3, 90, 24]), from('under', [2, 30, 12])];
    assert.deepEqual(await quotient(3, over, under), { over: 24, under: 12, ratio: 2 });
    assert.deepEqual(order, ['over', 'under', 'under', 'over', 'over', 'under']);
    const slow = await quotient(3, from('over', [3, 8, 30]), from('under', [1, 10, 20]));
    assert.deepEqual(slow, { over: 8, under: 10, ratio: 1.5 }, 'not the quotient of the medians');
  });

  it('include the steal time as a share, if there is /proc', () => {
    const steal = stealMeter()();
    assert.ok(steal === null || (steal >= 0 && steal <= 1));
  });
});

describe('bench output', () => {
  it('is a table that shows which limits are met', () => {
    const table = tableOf([figure, { ...figure, value: 0.8 }, lower]);
    for (const words of [
      'some.figure',
      '0.500',
      'NOT MET',
      'aim met',
      '≤ 20.0 ms',
      '1.2 %',
      '12,345',
    ]) {
      assert.ok(table.includes(words), words);
    }
  });

  it('is JSON with the same figures', () => {
    const json = JSON.parse(jsonOf([figure, lower], true)) as {
      quick: boolean;
      cores: number;
      figures: (Figure & { met: boolean; aim_met: boolean })[];
    };
    assert.equal(json.quick, true);
    assert.ok(json.cores > 0);
    assert.deepEqual(json.figures, [
      { ...figure, met: true, aim_met: false },
      { ...lower, met: false, aim_met: false },
    ]);
  });

  it('is empty for an unknown name', async () => {
    const told: unknown[] = [];
    const figures = await runBenches(
      { quick: true, only: 'no-such' },
      { begun: (name) => told.push(name), measured: (each) => told.push(each) },
    );
    assert.deepEqual([figures, told], [[], []]);
  });

  it('are printed one line each as they are measured', () => {
    assert.equal(lineOf(figure), 'some.figure 0.500, at least 0.400: met');
    assert.equal(lineOf(lower), 'some.figure 25.0 ms, at most 20.0 ms: NOT MET');
  });
});

describe('the program of a child', () => {
  it('is a file that node can run', () => {
    const { args, built } = programOf('tools/actlog');
    assert.match(args.at(-1) ?? '', built ? /dist\/tools\/actlog\.js$/ : /tools\/actlog\.ts$/);
  });
});

describe('a log that is built for measurements', () => {
  it('is served from a copy, with a key that writes', async () => {
    const built = await builtLog({ entries: 200, keys: 'one each' });
    try {
      const service = await startService(built.path);
      try {
        const response = await fetch(`${service.url}/api/v1/classify`, {
          method: 'POST',
          headers: headersOf(built.key),
          body: JSON.stringify({ message: 'is this safe to run' }),
        });
        assert.equal(response.status, 200, await response.text());
      } finally {
        await service.stop();
      }
    } finally {
      await built.close();
    }
  });
});
