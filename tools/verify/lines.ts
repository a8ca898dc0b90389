// Checks that run one after the other, of which each is shown, also those behind one that failed.

import { LogError } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import type { Line, Outcome } from './check.ts';

/** Runs checks one after the other and keeps what came of each. */
export class Lines {
  readonly all: Line[] = [];

  /** Notes one check; false when it failed. */
  run(name: string, check: () => string | { readonly not_shown: string }): boolean {
    try {
      const found = check();
      if (typeof found === 'string') this.all.push({ name, outcome: 'ok', detail: found });
      else this.all.push({ name, outcome: 'not_shown', detail: found.not_shown });
      return true;
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.all.push({ name, outcome: 'failed', detail: error.message });
      return false;
    }
  }

  /** Notes one check that brings something to light, behind its detail; undefined when it failed. */
  take<T>(name: string, check: () => readonly [string, T]): T | undefined {
    let taken: T | undefined;
    this.run(name, () => {
      const [detail, value] = check();
      taken = value;
      return detail;
    });
    return taken;
  }

  /** The outcome, with this sentence when nothing failed. */
  outcome(summary: string, facts: JsonObject = {}): Outcome {
    const bad = this.all.find(({ outcome }) => outcome === 'failed');
    const valid = bad === undefined;
    const said = valid ? summary : `${bad.name.replaceAll('_', ' ')} failed: ${bad.detail}`;
    return { valid, checks: this.all, summary: said, facts };
  }
}

/** Why a check fails. */
export const refused = (message: string): LogError => new LogError('document_invalid', message);
