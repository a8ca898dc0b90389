// The kinds of settings that the configuration is made of.

import { parseNetwork } from './egress/address.ts';

/** One setting: how its text becomes a value, and its row in the table. */
export interface Setting<T> {
  readonly type: string;
  /** The default as the table shows it; empty if there is none. */
  readonly standard: string;
  readonly description: string;
  /** Throws an error with the reason. */
  parse(text: string): T;
  readonly fallback: T;
}

/** A whole number between two bounds. */
export const integer = (
  fallback: number,
  least: number,
  most: number,
  description: string,
): Setting<number> => ({
  type: `integer ${String(least)}..${String(most)}`,
  standard: String(fallback),
  description,
  fallback,
  parse(text) {
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < least || value > most) {
      throw new Error(`must be an integer from ${String(least)} to ${String(most)}`);
    }
    return value;
  },
});

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** How often something is done, such as `12h`, from a minute to a year; in milliseconds, and 0 for `off`. */
export const interval = (fallback: string, description: string): Setting<number> => {
  const parse = (text: string): number => {
    if (text === 'off') return 0;
    const [, digits = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
    const ms = Number(digits) * (UNITS[unit] ?? 0);
    if (ms < 60_000 || ms > 366 * 86_400_000) {
      throw new Error('must be off, or an interval from 1m to 366d such as 12h');
    }
    return ms;
  };
  return {
    type: 'interval \\| off',
    standard: fallback,
    description,
    fallback: parse(fallback),
    parse,
  };
};

/** One of a few words; the first is the default. */
export const oneOf = <const T extends string>(
  values: readonly [T, ...T[]],
  description: string,
): Setting<T> => ({
  type: values.join(' \\| '),
  standard: values[0],
  description,
  fallback: values[0],
  parse(text) {
    const value = values.find((known) => known === text);
    if (value === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return value;
  },
});

/** A text of a form; `type` names it in the table and in refusals. */
export const text = (
  type: string,
  fallback: string,
  description: string,
  pattern = /^.+$/u,
): Setting<string> => ({
  type,
  standard: fallback,
  description,
  fallback,
  parse(value) {
    if (!pattern.test(value)) throw new Error(`is no ${type}`);
    return value;
  },
});

/** An http or https address without query and fragment; a slash at its end is dropped. */
export const address = (fallback: string, description: string): Setting<string> => ({
  type: 'http(s) address',
  standard: fallback,
  description,
  fallback,
  parse(value) {
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
      throw new Error('must be an http or https address without query and fragment');
    }
    return value.replace(/\/+$/, '');
  },
});

/** Several texts with commas between them. */
export const list = (description: string): Setting<readonly string[]> => ({
  type: 'comma list',
  standard: '',
  description,
  fallback: [],
  parse: items,
});

/** Networks in CIDR notation; they stay text, `parseNetwork` reads them. */
export const networks = (description: string): Setting<readonly string[]> => ({
  ...list(description),
  type: 'comma list of CIDR',
  parse(value) {
    const found = items(value);
    for (const item of found) {
      try {
        parseNetwork(item);
      } catch (cause) {
        const reason = (cause as Error).message;
        throw new Error(`names ${item}, which is no network: ${reason}`, { cause });
      }
    }
    return found;
  },
});

const items = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
