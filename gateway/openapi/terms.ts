// What members of schemas mean, where the schema itself does not say: catalogs/terms.json.
//
// Schemas of entries are declared in logs and cannot change, and many members occur in several layers with one meaning. Their
// descriptions therefore are in one file, and only the OpenAPI document prints them.

import { readCatalog } from '../../plugins/contract/index.ts';

const { terms } = readCatalog('terms.json') as {
  readonly terms: Readonly<Record<string, string>>;
};

/**
 * The description of a member; undefined where the file has none.
 *
 * @param owners names around the member, outermost first: of schemas, of the members that hold it, of its place. The
 * file may describe `owner.name`, or `owner.*` for all members directly inside `owner`; else it describes `name`.
 */
export function termOf(name: string, owners: readonly string[]): string | undefined {
  const own = owners.findLast((owner) => `${owner}.${name}` in terms);
  if (own !== undefined) return terms[`${own}.${name}`];
  return terms[`${owners.at(-1) ?? ''}.*`] ?? terms[name];
}
