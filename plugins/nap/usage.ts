// What of a month's usage is premium: negative acts, by SKU, never the commodity toll.
// gateway/API.md §10.2. Pure.

import { add } from '../clear/index.ts';
import type { Digits, Usage } from '../clear/index.ts';
import type { JsonObject } from '../contract.ts';

/** A premium SKU: the key of its toll, and the SKU that it is counted under. */
export interface Sku {
  readonly sku: string;
  readonly counted_as: string;
}

/** Acts under one SKU. */
export interface SkuCount {
  readonly sku: string;
  readonly acts: number;
  readonly micro_usd: Digits;
}

/** The SKUs of the catalog; a legacy alias is counted under what it maps to. */
export function skusOf(catalog: JsonObject): readonly Sku[] {
  const { skus } = catalog as unknown as {
    readonly skus: readonly { readonly sku: string; readonly maps_to?: string }[];
  };
  return skus.map(({ sku, maps_to = sku }) => ({ sku, counted_as: maps_to }));
}

/** Every SKU that counts for itself, with its acts. */
export function negativeActs({ tolls }: Usage, skus: readonly Sku[]): readonly SkuCount[] {
  return skus
    .filter(({ sku, counted_as }) => sku === counted_as)
    .map(({ sku }) => {
      const own = skus.filter(({ counted_as }) => counted_as === sku).map((one) => one.sku);
      return tolls
        .filter(([toll]) => own.includes(toll))
        .reduce<SkuCount>(
          (sum, [, acts, usd]) => ({
            sku,
            acts: sum.acts + acts,
            micro_usd: add(sum.micro_usd, usd),
          }),
          { sku, acts: 0, micro_usd: '0' },
        );
    });
}
