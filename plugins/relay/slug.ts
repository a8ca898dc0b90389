// A partner's name as it stands in addresses.

import { ApiError } from '../contract.ts';

const MAX = 64;

/**
 * The kebab form of a name: accents fall off, what is neither letter nor digit becomes one hyphen.
 *
 * @throws ApiError `parameter_invalid` for a name that has neither
 */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const kebab = plain.replace(/[^a-z0-9]+/g, '-').slice(0, MAX);
  const slug = kebab.replace(/^-|-$/g, '');
  if (slug !== '') return slug;
  throw new ApiError('parameter_invalid', 'partner has no letter a to z and no digit', {
    param: 'partner',
  });
}
