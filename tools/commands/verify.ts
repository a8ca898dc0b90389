// `actlog verify`: checks receipts, proofs, absence documents and kits, offline from what the caller keeps.

import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { ChainKey, JsonObject } from '../../log/index.ts';
import type { Json, Question, Trust } from '../../log/verify.ts';
import { acting, CommandError, EXIT } from '../command-line.ts';
import { parseInstant } from '../duration.ts';
import type { Outcome } from '../verify/check.ts';
import type { Shown } from '../verify/recognise.ts';
import type { Kit, TrustOptions } from '../verify/trust.ts';

interface VerifyOptions extends TrustOptions {
  readonly proof?: string;
  readonly receipt?: string;
  readonly origin?: string;
  readonly key?: string;
  readonly from?: string;
  readonly to?: string;
  readonly after?: string;
  readonly asAsked?: boolean;
  readonly json?: boolean;
}

/** Declares the command. */
export function addVerify(program: Command): void {
  program
    .command('verify <what>')
    .summary('check a receipt, proof, absence document, report or kit')
    .description(
      'Checks a receipt, an answer that holds one, an absence document, an AIR export, a COSE message, a ' +
        'report or exhibit pack, a tlog-proof, the proof of a clearing slot, a checkpoint or a kit: a file, an address, or - for ' +
        'standard input. What it is shows by its content. Nothing is asked of the service when --kit is a file.',
    )
    .option(
      '--kit <file>',
      'the offline verification kit to trust; kept from the service, or an address',
    )
    .option(
      '--url <address>',
      'fetch the kit of this service now, and so trust its operator for it',
    )
    .option(
      '--policy <file>',
      "witness policy (C2SP tlog-policy) of your own, in place of the kit's",
    )
    .option('--origin <origin>', 'the log that it must be of, when the kit has several')
    .option('--proof <file>', 'tlog-proof that came beside a receipt')
    .option('--receipt <file>', 'receipt or entry that a tlog-proof is of')
    .option('--key <json>', 'absence: the chain you ask about, such as ["session","…"]')
    .option('--from <time>', 'absence: first moment of the window, ms or a date')
    .option('--to <time>', 'absence: last moment of the window')
    .option('--after <index>', 'absence: of a further page, the last entry of the page before')
    .option('--as-asked', 'absence: take the question from the document, and print it')
    .option('--chain <kind=members...>', 'absence: chain kinds that entry types declare')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Exits 0 when everything that is shown holds, 1 when something does not, 2 when that cannot be told.

  curl -s $BASE/export/offline-verify-kit.json > kit.json     once, and keep it
  actlog verify receipt.json --kit kit.json
  actlog verify "$BASE/r/$ENTRY_ID"                           trusts the operator's kit, and says so
  actlog verify absent.json --kit kit.json --key '["session","…"]' --from 2026-05-01 --to 2026-05-02`,
    )
    .action(acting(EXIT.unknown, verify));
}

async function verify(what: string, options: VerifyOptions): Promise<number> {
  const { checkKit } = await import('../verify/kit.ts');
  const { recogniseBytes, severalOf } = await import('../verify/recognise.ts');
  const { originsOf, readKit, trustOf } = await import('../verify/trust.ts');

  const address = /^https?:\/\//.test(what) ? answerAddress(new URL(what)) : null;
  const bytes = await read(what, address);
  const several = severalOf(bytes);
  if (several !== null) {
    refuseUnasked({ kind: 'absence' }, options);
    const kit = await readKit(options, address);
    let exit: number = EXIT.ok;
    for (const one of askedAbout(several, options)) {
      exit = Math.max(exit, await checkOne(one, kit, options));
    }
    return exit;
  }
  const shown = recogniseBytes(bytes);
  const kit: Kit =
    shown.kind === 'kit'
      ? { kit: shown.kit, source: what, fetched: address !== null }
      : await readKit(options, address);
  refuseUnasked(shown, options);
  if (shown.kind === 'kit') {
    const origins = originsOf(kit);
    const trusts = await Promise.all(origins.map((origin) => trustOf(kit, origin, options)));
    const pinned = options.kit ?? options.url;
    const compared = pinned === undefined ? null : (await readKit(options, address)).kit;
    return print(shown.kind, checkKit(shown.kit, trusts, compared), kit, null, options);
  }
  return checkOne(shown, kit, options);
}

/** Of a witness about several surfaces, the documents that the question is about; all of them with --as-asked. */
function askedAbout<T extends { readonly document: JsonObject }>(
  documents: readonly T[],
  { key, asAsked }: VerifyOptions,
): T[] {
  const keys = documents.map(({ document: { question } }) =>
    JSON.stringify((question as JsonObject | null)?.key),
  );
  const asked = key === undefined ? null : JSON.stringify(keyOf(key));
  const chosen = documents.filter((_, i) => asked === null || keys[i] === asked);
  if (chosen.length === 1 || (chosen.length > 1 && asAsked === true)) return chosen;
  const hint =
    asked === null
      ? 'say by --key which you ask about'
      : chosen.length === 0
        ? `none is about ${asked}`
        : // After a successor log each has a part of the window, and no question of the caller's fits both.
          `${String(chosen.length)} are about ${asked}, each of another log: give them one by one, or take their questions by --as-asked`;
  throw new CommandError(
    `this answer holds ${String(documents.length)} absence documents, and ${hint}: ${keys.join(' ')}`,
    EXIT.unknown,
  );
}

/**
 * An option that the thing cannot answer is not passed over: whoever asks about a window would take a good
 * receipt, in an answer whose document is of no known form, for the proof.
 */
function refuseUnasked({ kind }: Pick<Shown, 'kind'>, options: VerifyOptions): void {
  const refuse = (option: string, about: string): never => {
    const what = kind.replace('_', '-');
    throw new CommandError(`${option} asks about ${about}, and this is a ${what}`, EXIT.unknown);
  };
  for (const name of ['key', 'from', 'to', 'after'] as const) {
    if (options[name] !== undefined && kind !== 'absence') {
      refuse(`--${name}`, 'an absence document');
    }
  }
  if (options.asAsked === true && kind !== 'absence') {
    refuse('--as-asked', 'an absence document');
  }
  if (options.receipt !== undefined && kind !== 'tlog_proof' && kind !== 'cose') {
    refuse('--receipt', 'a tlog-proof or a COSE receipt');
  }
  if (options.proof !== undefined && kind !== 'receipt' && kind !== 'mandate') {
    refuse('--proof', 'a receipt');
  }
}

/** Checks what is neither a kit nor several things, and prints what came of it. */
async function checkOne(
  shown: Exclude<Shown, { kind: 'kit' }>,
  kit: Kit,
  options: VerifyOptions,
): Promise<number> {
  const { check, claimedOrigin } = await import('../verify/check.ts');
  const { originsOf, trustOf } = await import('../verify/trust.ts');
  const { STRANGE_LOG } = await import('../../gateway/static/verify/finding.ts');
  const origins = originsOf(kit);
  const claimed = options.origin ?? claimedOrigin(shown);
  // What names no log fails the check of any.
  const origin = claimed === null ? origins[0] : origins.find((known) => known === claimed);
  if (origin === undefined) {
    // Quoted: it is text of whoever made the thing.
    const log = JSON.stringify((claimed ?? '').slice(0, 200));
    throw new CommandError(
      `${kit.source} does not know the log ${log}: ${STRANGE_LOG}`,
      EXIT.unknown,
    );
  }
  const trust = await trustOf(kit, origin, options);
  const question = shown.kind === 'absence' ? questionOf(options, shown.document) : undefined;
  if (question !== undefined && options.asAsked === true && options.json !== true) {
    console.log(`question, taken from the document: ${JSON.stringify(question)}\n`);
  }
  const outcome = check(shown, trust, {
    kit: kit.kit,
    ...(options.proof === undefined ? {} : { tlogProof: await readFile(options.proof, 'utf8') }),
    ...(options.receipt === undefined ? {} : { receipt: await readFile(options.receipt, 'utf8') }),
    ...(question === undefined ? {} : { question }),
  });
  return print(shown.kind, outcome, kit, trust, options);
}

/** The `verify_url` of a receipt is a page; what it is about is the answer of the lookup. */
function answerAddress(url: URL): URL {
  if (!url.pathname.endsWith('/verify') || !url.searchParams.has('entry_id')) return url;
  const lookup = new URL(url);
  lookup.pathname = url.pathname.replace(/\/verify$/, '/receipt/lookup');
  return lookup;
}

async function read(what: string, address: URL | null): Promise<Uint8Array> {
  const { MAX_BYTES } = await import('../verify/recognise.ts');
  if (address !== null) {
    const { fetchText } = await import('../fetch-text.ts');
    return Buffer.from(await fetchText(address, MAX_BYTES));
  }
  if (what !== '-') return readFile(what);
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The caller's question; the document's own only when the caller says so. */
function questionOf(options: VerifyOptions, document: Json): Question | undefined {
  const { key, from, to, asAsked } = options;
  const page = options.after === undefined ? {} : { after: indexOf(options.after) };
  if (key !== undefined && from !== undefined && to !== undefined) {
    return { key: keyOf(key), from_ms: parseInstant(from), to_ms: parseInstant(to), ...page };
  }
  if (asAsked !== true) return undefined;
  const parsed = (typeof document === 'string' ? JSON.parse(document) : document) as {
    question?: Question;
  };
  if (parsed.question === undefined) return undefined;
  return {
    ...parsed.question, // what the caller did ask stands
    ...(key === undefined ? {} : { key: keyOf(key) }),
    ...(from === undefined ? {} : { from_ms: parseInstant(from) }),
    ...(to === undefined ? {} : { to_ms: parseInstant(to) }),
    ...page,
  };
}

function indexOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CommandError('--after is the index of an entry', EXIT.unknown);
}

function keyOf(text: string): ChainKey {
  try {
    return JSON.parse(text) as ChainKey; // its grammar is checked with the question
  } catch {
    throw new CommandError(`--key is a JSON array, such as '["session","…"]'`, EXIT.unknown);
  }
}

async function print(
  kind: string,
  outcome: Outcome,
  kit: Kit,
  trust: Trust | null,
  { json }: VerifyOptions,
): Promise<number> {
  const { label } = await import('../verify/check.ts');
  const { valid, untold, checks, summary, facts } = outcome;
  const exit = valid ? EXIT.ok : untold === true ? EXIT.unknown : EXIT.failed;
  const policy_source = trust?.policy_source ?? 'operator';
  if (json === true) {
    const trusted = { kit: kit.source, fetched: kit.fetched, origin: trust?.origin ?? null };
    const told = untold === true ? { valid, untold } : { valid };
    const result = {
      kind,
      ...told,
      summary,
      checks,
      ...facts,
      trust: { ...trusted, policy_source },
    };
    console.log(JSON.stringify(result, null, 2));
    return exit;
  }
  for (const { name, outcome: came, detail } of checks) {
    console.log(`  ${WORDS[came].padEnd(9)}  ${label(name).padEnd(13)}  ${detail}`);
  }
  console.log(`\n${valid ? 'VALID' : untold === true ? 'UNKNOWN' : 'INVALID'}: ${summary}`);
  const fetched = kit.fetched ? ', fetched just now: its operator vouches for itself' : '';
  console.log(`trust: ${kit.source}${fetched} (policy_source: ${policy_source})`);
  return exit;
}

const WORDS = { ok: 'ok', failed: 'FAILED', not_shown: 'not shown' } as const;
