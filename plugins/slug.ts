// A name as it stands in addresses: of the relay's partners, of a carrier's insured. gateway/API.md §8.3, §14.

import { ApiError } from './problem.ts';

const MAX = 64;

/** A slug: the kebab form of a name. */
export const SLUG = '^[a-z0-9]+(-[a-z0-9]+)*$';

/**
 * The kebab form of a name: accents fall off, what is neither letter nor digit becomes one hyphen.
 *
 * @throws ApiError `parameter_invalid` of `param` for a name that has neither
 */
export function slugOf(name: string, param: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const kebab = plain.replace(/[^a-z0-9]+/g, '-').slice(0, MAX);
  const slug = kebab.replace(/^-|-$/g, '');
  if (slug !== '') return slug;
  throw new ApiError('parameter_invalid', `${param} has no letter a to z and no digit`, { param });
}
