// The arithmetic of `scale`: formulas that stand in a layer's catalog, over its inputs. gateway/API.md §10.1.
// Exact in millionths, rounded down, so that 0.05 is 0.05.

import type { Json } from '../log/index.ts';

/** One result: the product of `product`, or the sum of `sum`; each names an input or an earlier result. */
export interface Formula {
  readonly name: string;
  readonly unit: string;
  readonly product?: readonly string[];
  readonly sum?: readonly string[];
}

/** `scale` of a catalog. */
export interface ScaleModel {
  readonly inputs: Readonly<
    Record<string, { readonly default: number; readonly description: string }>
  >;
  readonly formulas: readonly Formula[];
}

/** What `scale` answers, beside the catalog's schema. */
export interface Scaled {
  readonly illustrative: true;
  readonly inputs: Readonly<Record<string, number>>;
  readonly results: readonly {
    readonly name: string;
    readonly formula: string;
    readonly value: number;
    readonly unit: string;
  }[];
}

/** A decimal that `scale` takes: at most 12 digits before the point and 6 behind it. */
export const SCALE_INPUT = '^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,6})?$';

const MILLION = 1_000_000n;

/** Applies the formulas in order; inputs that are not given have the catalog's defaults. */
export function scale(model: ScaleModel, given: Readonly<Record<string, string>>): Scaled {
  const values = new Map<string, bigint>();
  for (const [name, input] of Object.entries(model.inputs)) {
    values.set(name, millionths(given[name] ?? String(input.default)));
  }
  const inputs = Object.fromEntries([...values].map(([name, value]) => [name, numberOf(value)]));
  const valueOf = (name: string): bigint => {
    const value = values.get(name);
    if (value === undefined)
      throw new Error(`a formula names ${name}, which stands nowhere before`);
    return value;
  };
  const results = model.formulas.map(({ name, unit, product, sum }) => {
    const parts = (product ?? sum ?? []).map(valueOf);
    const value =
      product === undefined
        ? parts.reduce((total, part) => total + part, 0n)
        : parts.reduce((total, part) => (total * part) / MILLION, MILLION);
    values.set(name, value);
    const formula = (product ?? sum ?? []).join(product === undefined ? ' + ' : ' × ');
    return { name, formula: `${name} = ${formula}`, value: numberOf(value), unit };
  });
  return { illustrative: true, inputs, results };
}

function millionths(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole) * MILLION + BigInt(fraction.padEnd(6, '0'));
}

function numberOf(value: bigint): number {
  const fraction = String(value % MILLION).padStart(6, '0');
  return Number(`${String(value / MILLION)}.${fraction}`);
}

/** The `scale` of a catalog document; a catalog without one is a mistake of the package. */
export function scaleModelOf(catalog: Json): ScaleModel {
  const { scale: model } = catalog as { readonly scale?: ScaleModel };
  if (model === undefined) throw new Error('the catalog has no scale');
  return model;
}
