// A finding as `actlog verify` prints it to a terminal: the verdict and what the document is, in the manner of a
// certificate, and below it each check. Colours are used only where the terminal has them (https://no-color.org).

import { styleText } from 'node:util';
import type { Finding, Json, JsonObject } from '../../log/verify.ts';

/** What was checked, and with whose keys. */
export interface Checked {
  readonly finding: Finding;
  /** Its name for people, such as `a receipt`. */
  readonly title: string;
  /** The origin of the log; null for a kit, which has several. */
  readonly origin: string | null;
  /** The kit, and whether it was fetched from the operator who is being checked. */
  readonly kit: string;
  readonly fetched: boolean;
  readonly policy_source: string;
}

type Colour = 'green' | 'red' | 'yellow' | 'bold' | 'dim';

/** Paints a text, or leaves it as it is. */
export type Paint = (colour: Colour | readonly Colour[], text: string) => string;

/** Colours if standard output is a terminal that has them, and NO_COLOR is not set. */
export function paintFor(stdout: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Paint {
  const { NO_COLOR = '' } = env;
  if (NO_COLOR !== '' || !stdout.isTTY || !stdout.hasColors()) return (_, text) => text;
  return (colour, text) => styleText([colour].flat(), text);
}

const WORDS = {
  ok: ['ok', 'green'],
  failed: ['FAILED', 'red'],
  not_shown: ['not shown', 'yellow'],
} as const;

/** The lines of a finding. */
export function certificate(checked: Checked, paint: Paint): readonly string[] {
  const { finding } = checked;
  const { valid, untold, sandbox, summary, checks, not_proven } = finding;
  const word = valid ? 'VALID' : untold === true ? 'UNKNOWN' : 'INVALID';
  const tone = !valid && untold !== true ? 'red' : valid && sandbox !== true ? 'green' : 'yellow';
  return [
    ...(sandbox === true ? [paint(['yellow', 'bold'], SANDBOX)] : []),
    `${paint([tone, 'bold'], `${word}:`)} ${summary}`,
    '',
    ...factsOf(checked).map(([name, text]) => `  ${paint('dim', name.padEnd(11))}${text}`),
    '',
    ...checks.map(({ name, outcome, detail }) => {
      const [said, colour] = WORDS[outcome];
      const cells = `${paint(colour, said.padEnd(9))}  ${name.replaceAll('_', ' ').padEnd(13)}`;
      return `  ${cells}  ${detail}`;
    }),
    ...(valid && not_proven.length > 0 ? ['', paint('dim', 'What this does not prove:')] : []),
    ...(valid ? not_proven.map((text) => `  - ${text}`) : []),
  ];
}

const SANDBOX = 'SANDBOX: this is of a test log, and proves nothing about a real decision.';

/** What the document is about, for a reader who sees nothing else. */
function factsOf(checked: Checked): readonly (readonly [string, string])[] {
  const { finding, title, origin, kit, fetched, policy_source } = checked;
  const { statement, way } = finding;
  const from = fetched ? ', fetched just now: its operator vouches for itself' : '';
  return [
    ['document', title],
    ...(origin === null ? [] : [['log', origin] as const]),
    ...(statement === undefined ? [] : entryFacts(statement, way?.size)),
    ['trust', `${kit}${from} (policy_source: ${policy_source})`],
  ];
}

function entryFacts(
  { type, index, issued_at_ms, entry_id }: JsonObject,
  size: number | undefined,
): readonly (readonly [string, string])[] {
  const of = size === undefined ? '' : ` of ${size}`;
  const when = new Date(issued_at_ms as number);
  return [
    ['entry', `${JSON.stringify(index)}${of}, ${named(type)}`],
    ['id', named(entry_id)],
    ...(Number.isNaN(when.getTime()) ? [] : [['logged', when.toISOString()] as const]),
  ];
}

/** A name of the log for a terminal; `?` for one that the format does not allow. */
const named = (value: Json | undefined): string =>
  typeof value === 'string' && /^[\w.-]{1,256}$/.test(value) ? value : '?';
