// The bench: every measurement of the requirements, one after the other on a quiet machine.

import { append } from './append.ts';
import { cluster } from './cluster.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';
import { exportSession } from './exports.ts';
import { fold } from './fold.ts';
import { bind, gate } from './gate.ts';
import { growth } from './growth.ts';
import { http } from './http.ts';
import { mcp } from './mcp.ts';
import { metering } from './metering.ts';
import { monitor } from './monitor.ts';
import { peers } from './peers.ts';
import { oracle } from './post.ts';
import { shapley } from './orn.ts';
import { startup } from './startup.ts';
import { webhooks } from './webhooks.ts';
import { witness } from './witness.ts';

/** All measurements, in the order of the requirement. */
export const BENCHES: readonly Bench[] = [
  append,
  cluster,
  http,
  growth,
  startup,
  monitor,
  fold,
  witness,
  exportSession,
  metering,
  webhooks,
  gate,
  bind,
  mcp,
  shapley,
  oracle,
  peers,
];

/** Told while the measurements run: a whole run takes a third of an hour. */
export interface Progress {
  begun(bench: string): void;
  measured(figure: Figure): void;
}

/** Runs the measurements whose name, or the name of one of their figures, begins with `only`. */
export async function runBenches(
  options: BenchOptions & { readonly only?: string },
  progress: Progress,
): Promise<Figure[]> {
  const { only = '' } = options;
  const figures: Figure[] = [];
  for (const bench of BENCHES) {
    if (!bench.name.startsWith(only.split('.', 1)[0] ?? '')) continue;
    progress.begun(bench.name);
    const wanted = (await bench.run(options)).filter(({ name }) => name.startsWith(only));
    for (const figure of wanted) progress.measured(figure);
    figures.push(...wanted);
  }
  return figures;
}
