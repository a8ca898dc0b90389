// The manifest of a service under test: whether it is valid, and which of its actions to try. gateway/API.md §8.2;
// catalogs/require-receipt/agent-actions.schema.json.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../log/index.ts';
import { readCatalog } from '../../plugins/contract/index.ts';
import { CommandError, EXIT } from '../command-line.ts';

/** An action over HTTP that needs a receipt. */
export interface Tried {
  readonly id: string;
  readonly action_type: string;
  readonly method: string;
  readonly path: string;
  readonly example: Json | undefined;
  readonly challenge_header: string;
  readonly proof_header: string;
}

interface Manifest {
  readonly receipt_required: { readonly challenge_header: string; readonly proof_header: string };
  readonly actions: readonly (JsonObject & {
    readonly id: string;
    readonly match: { readonly protocol: string; readonly method: string; readonly path: string };
    readonly receipt_required: boolean;
  })[];
}

/** What is wrong with a manifest; null when it is valid and declares an action that needs a receipt. */
export function faultOf(value: Json | undefined): string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  const schema = readCatalog('require-receipt/agent-actions.schema.json') as object;
  const validate = ajv.compile(schema);
  if (!validate(value)) return ajv.errorsText(validate.errors, { dataVar: 'manifest' });
  const { actions } = value as unknown as Manifest;
  const ids = actions.map(({ id }) => id);
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) return `the id ${JSON.stringify(twice)} occurs twice`;
  return requiring(value).length > 0 ? null : 'no action over http needs a receipt';
}

/**
 * The action to try: the named one, else the first that needs a receipt.
 *
 * @throws CommandError (exit 2) when there is no such action
 */
export function triedOf(manifest: Json, id?: string): Tried {
  const found = requiring(manifest).find((action) => id === undefined || action.id === id);
  if (found === undefined) {
    throw new CommandError(
      `the manifest has no action ${id ?? ''} that needs a receipt`,
      EXIT.unknown,
    );
  }
  return found;
}

function requiring(manifest: Json | undefined): readonly Tried[] {
  const { actions, receipt_required: headers } = manifest as unknown as Manifest;
  const { challenge_header, proof_header } = headers;
  return actions
    .filter(({ match, receipt_required }) => receipt_required && match.protocol === 'http')
    .map(({ id, match, action_type, example }) => ({
      id,
      action_type: action_type as string,
      method: match.method,
      path: match.path,
      example,
      challenge_header,
      proof_header,
    }));
}
