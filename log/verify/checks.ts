// The checks of a receipt as a list to show: what held, what failed, what was not there.

import { LogError } from '../errors.ts';

/** The checks, in their order. */
export type CheckName =
  | 'document_form'
  | 'entry_hash'
  | 'origin'
  | 'checkpoint'
  | 'inclusion'
  | 'cosignatures'
  | 'signature'
  | 'disclosures';

/** One check. `ok` is false also where there is nothing to check: `not_shown` makes no receipt invalid. */
export interface Check {
  readonly name: CheckName;
  readonly ok: boolean;
  readonly outcome: 'ok' | 'failed' | 'not_shown';
  readonly detail: string;
}

/** What a check found; `not_shown` when the receipt has nothing of the kind. */
export interface Found<T = undefined> {
  readonly detail: string;
  readonly not_shown?: true;
  readonly value?: T;
}

/** Runs checks and keeps what came of each. */
export class Checks {
  readonly all: Check[] = [];

  /** Runs one check and notes it; undefined when it failed or found nothing. */
  run<T>(name: CheckName, check: () => Found<T>): T | undefined {
    try {
      const { detail, not_shown, value } = check();
      const outcome = not_shown === true ? 'not_shown' : 'ok';
      this.all.push({ name, ok: outcome === 'ok', outcome, detail });
      return value;
    } catch (cause) {
      if (!(cause instanceof LogError)) throw cause;
      this.all.push({ name, ok: false, outcome: 'failed', detail: cause.message });
      return undefined;
    }
  }
}
