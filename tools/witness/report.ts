// How a witness says that a log contradicts what it cosigned, and how it is: a line, a webhook, metrics and health.

import { Gauge, Counter, Registry } from 'prom-client';
import type { JsonObject } from '../../log/index.ts';
import type { Status } from '../status.ts';
import type { Webhook } from '../webhook.ts';
import type { Witness } from './witness.ts';

/** Reports of one witness. */
export interface WitnessReport {
  readonly registry: Registry;
  /** Says a new conflict. */
  readonly conflict: (finding: JsonObject) => void;
  /** The status that `--metrics` serves. */
  status(witness: Pick<Witness, 'conflicts' | 'sizes'>): Status;
}

/** Makes the report; `say` writes a line. */
export function witnessReport(
  say: (line: string) => void,
  webhook: Pick<Webhook, 'send'>,
): WitnessReport {
  const registry = new Registry();
  const conflicts = new Counter({
    name: 'actlog_witness_conflicts_total',
    help: 'Checkpoints that contradict what was cosigned, since the start, by log.',
    labelNames: ['origin'],
    registers: [registry],
  });
  let seen = 0;
  return {
    registry,
    conflict(finding) {
      const { origin, detail } = finding as { origin: string; detail: string };
      seen += 1;
      conflicts.inc({ origin });
      say(`${origin}  CONFLICT: ${detail}; GET /conflicts shows the proof`);
      webhook.send('witness.conflict', finding);
    },
    status(witness) {
      new Gauge({
        name: 'actlog_witness_cosigned_size',
        help: 'Size of the newest checkpoint that was cosigned, by log; 0 for none.',
        labelNames: ['origin'],
        registers: [registry],
        async collect() {
          for (const [origin, size] of await witness.sizes()) this.set({ origin }, size);
        },
      });
      new Gauge({
        name: 'actlog_witness_conflicts_kept',
        help: 'Findings of conflicts in the folder of the witness, over all starts.',
        registers: [registry],
        async collect() {
          this.set((await witness.conflicts()).length);
        },
      });
      // A conflict is a fault of a log: the witness goes on with its work.
      return { registry, health: () => ({ ok: true, conflicts: seen }) };
    },
  };
}
