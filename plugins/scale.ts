// The arithmetic of `scale`: the formulas of a layer's catalog, applied to its inputs. gateway/API.md §10.1.
// Computed in millionths and rounded down, so that 0.05 is exactly 0.05.

import type { Json } from '../log/index.ts';
import { decimalPattern, parseDecimal, printDecimal } from './decimal.ts';

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

const DIGITS = 6;
const ONE = 1_000_000n;

/** A decimal that `scale` accepts: at most 12 digits before the point and 6 after it. */
export const SCALE_INPUT = decimalPattern({ whole: 12, fraction: DIGITS });

/** Applies the formulas in order; inputs that are not given have the catalog's defaults. */
export function scale(model: ScaleModel, given: Readonly<Record<string, string>>): Scaled {
  const values = new Map<string, bigint>();
  for (const [name, input] of Object.entries(model.inputs)) {
    values.set(name, parseDecimal(given[name] ?? String(input.default), DIGITS));
  }
  const inputs = Object.fromEntries([...values].map(([name, value]) => [name, numberOf(value)]));
  const valueOf = (name: string): bigint => {
    const value = values.get(name);
    if (value === undefined)
      throw new Error(`a formula names ${name}, which is neither an input nor an earlier result`);
    return value;
  };
  const results = model.formulas.map(({ name, unit, product, sum }) => {
    const parts = (product ?? sum ?? []).map(valueOf);
    const value =
      product === undefined
        ? parts.reduce((total, part) => total + part, 0n)
        : parts.reduce((total, part) => (total * part) / ONE, ONE);
    values.set(name, value);
    const formula = (product ?? sum ?? []).join(product === undefined ? ' + ' : ' × ');
    return { name, formula: `${name} = ${formula}`, value: numberOf(value), unit };
  });
  return { illustrative: true, inputs, results };
}

function numberOf(value: bigint): number {
  return Number(printDecimal(value, DIGITS));
}

/** The `scale` of a catalog document; every catalog that is served with a scale has one. */
export function scaleModelOf(catalog: Json): ScaleModel {
  const { scale: model } = catalog as { readonly scale?: ScaleModel };
  if (model === undefined) throw new Error('the catalog has no scale');
  return model;
}
