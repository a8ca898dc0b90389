// The windows on offer: one is ready where the operator has configured a payment link for it.
// gateway/API.md §10.3.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { memberShapes } from '../contract.ts';
import type { JsonObject, PluginHost } from '../contract.ts';
import { skusOf } from './commands.ts';

const link = (label: string) =>
  Type.Optional(
    Type.String({
      title: 'https address',
      pattern: '^https://',
      description: `Payment link of the ${label} clearing window; without it the window is not ready.`,
    }),
  );

/** Settings of the plugin. */
export const ClearingSettings = Type.Object({
  CLEARING_ANNUAL_LINK: link('annual'),
  CLEARING_QUARTERLY_LINK: link('quarterly'),
});

const SETTING_OF: Readonly<Record<string, string>> = {
  clearing_annual: 'CLEARING_ANNUAL_LINK',
  clearing_quarterly: 'CLEARING_QUARTERLY_LINK',
};

/** A window as the catalog shows it: with its payment link where it is ready. */
export function skuMembers(host: PluginHost): Record<string, TSchema> {
  const skus = skusOf(host.catalog('clearing.json') as JsonObject);
  const sku = {
    ...memberShapes(skus),
    payment_link: Type.Optional(Type.String({ format: 'uri' })),
  };
  return { skus: Type.Array(Type.Object(sku)) };
}

/** What the catalog's file cannot know. */
export function readiness(host: PluginHost): JsonObject {
  const skus = skusOf(host.catalog('clearing.json') as JsonObject).map((sku): JsonObject => {
    const payment_link = host.settings[SETTING_OF[sku.id] ?? ''];
    return typeof payment_link === 'string'
      ? { ...sku, ready: true, payment_link }
      : { ...sku, ready: false };
  });
  const ready_count = skus.filter(({ ready }) => ready === true).length;
  return {
    all_ready: ready_count === skus.length,
    ready_count,
    total_count: skus.length,
    skus,
  };
}
