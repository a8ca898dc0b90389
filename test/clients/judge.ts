// Brings the results of the TypeScript verifier and of a client into one form, and compares them.

import type { Json, JsonObject } from '../../log/index.ts';
import {
  checkDocument,
  isLogError,
  logOfDocument,
  objectOf,
  originsOf,
  parsedOf,
  recogniseDocuments,
  trustFromKit,
  Unanswerable,
} from '../../plugins/verifiers.ts';
import type { Question, Trust } from '../../plugins/verifiers.ts';
import type { Case, Kit } from './corpus.ts';
import { remembering as suite } from './suite.ts';

/** An answer about one document. */
export interface Answer {
  readonly exit: number;
  readonly kind?: string;
  readonly checks?: readonly (readonly [name: string, outcome: string, detail: string])[];
  readonly summary?: string;
  readonly error?: string;
}

/** Kinds for which clients exit with 2, because plugins verify them. */
const OF_PLUGINS = [
  'mandate',
  'clearing',
  'invoice',
  'sealed',
  'air',
  'air_session',
  'cose',
  'kit',
];

/** The verifier of this repository, with one kit. */
export class Judge {
  readonly #kit: JsonObject;
  readonly #required: Pick<Trust, 'require_ml_dsa'>;
  readonly #trusts = new Map<string, Trust>();

  constructor({ kit, require_ml_dsa }: Kit) {
    this.#kit = JSON.parse(kit) as JsonObject;
    this.#required = require_ml_dsa === true ? { require_ml_dsa } : {};
  }

  async answer({ file, ask }: Case): Promise<Answer> {
    try {
      const [shown] = recogniseDocuments(file);
      if (shown === undefined || OF_PLUGINS.includes(shown.kind))
        return { exit: 2, error: 'plugin' };
      const origin = logOfDocument(shown, originsOf(this.#kit));
      const trust = this.#trusts.get(origin) ?? {
        ...trustFromKit(this.#kit, origin, { suite }),
        ...this.#required,
      };
      this.#trusts.set(origin, trust);
      const { question, as_asked, proof, receipt } = ask;
      // A document with the question null has a malformed question.
      const own =
        as_asked === true ? parsedOf(shown.document)['question'] : (question ?? undefined);
      const asked = own === undefined ? {} : { question: questionOf(own) };
      const options = {
        ...{ suite, kit: this.#kit, ...asked },
        ...(proof === undefined ? {} : { tlogProof: proof }),
        ...(receipt === undefined ? {} : { receipt }),
      };
      const finding = await checkDocument(shown, trust, options);
      const { valid, untold, checks, summary } = finding;
      return {
        exit: valid ? 0 : untold === true ? 2 : 1,
        kind: shown.kind,
        checks: checks.map(({ name, outcome, detail }) => [name, outcome, detail] as const),
        summary,
      };
    } catch (error) {
      if (error instanceof Unanswerable) return { exit: 2, error: error.message };
      if (isLogError(error)) return { exit: 1, error: error.message };
      throw error;
    }
  }
}

/** The question in a document, unchecked as in `actlog verify`: step 0 refuses members of another type. */
const questionOf = (value: Json): Question => ({ ...objectOf(value) }) as unknown as Question;

/** The step in the reason of a refusal: `step 4` of an absence document, otherwise the check itself. */
const stepOf = (detail: string): string =>
  /^(?:document|receipt|step \d): /.exec(detail)?.[0] ?? '';

/**
 * What both verifiers must agree on: the exit code, each check with its outcome, the failed step, and the verdict.
 */
export function classOf({ exit, kind = '', checks = [], summary = '' }: Answer): string {
  const lines = checks.map(([name, outcome, detail]) =>
    outcome === 'failed' ? `${name}!${stepOf(detail)}` : `${name}=${outcome}: ${detail}`,
  );
  return [exit, kind, ...lines, exit === 0 ? summary : ''].join('\n');
}

/** The wording of the checks and of the summary. */
export const wordsOf = ({ checks = [], summary = '' }: Answer): string =>
  [...checks.map(([, , detail]) => detail), summary].join('\n');
