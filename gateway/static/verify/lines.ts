// Checks that run one after the other, of which each is shown, also those behind one that failed.

import { LogError } from '../../../log/verify.ts';
import { refusal } from './finding.ts';
import type { Finding, Line, Way } from './finding.ts';

/** What of COSE and AIR no check here shows. */
const NOT_PROVEN = [
  'That what a caller told the service is true: the log keeps what was said, when and in which order.',
  'The checkpoint behind the receipt is signed by a COSE key of the kit; witnesses do not sign this form.',
];

/** What checks bring to light beside their lines. */
export type Found = Pick<Finding, 'statement'> & { readonly way?: Way };

/** Runs checks one after the other and keeps what came of each. */
export class Lines {
  readonly all: Line[] = [];

  /** Notes one check; undefined when it failed. */
  async run<T>(
    name: string,
    check: () => readonly [T, string] | Promise<readonly [T, string]>,
  ): Promise<T | undefined> {
    try {
      const [value, detail] = await check();
      this.all.push({ name, outcome: 'ok', detail });
      return value;
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.all.push({ name, outcome: 'failed', detail: error.message });
      return undefined;
    }
  }

  finding(summary: string, found: Found): Finding {
    if (this.all.some(({ outcome }) => outcome === 'failed')) return refusal(this.all);
    const lines = this.all;
    return { valid: true, verdict: 'VALID', summary, lines, not_proven: NOT_PROVEN, ...found };
  }
}

/** Ends a check with the reason why it fails. */
export function refuse(message: string): never {
  throw new LogError('document_invalid', message);
}
