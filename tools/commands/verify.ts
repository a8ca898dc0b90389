// `actlog verify`: checks receipts, proofs, absence documents and kits, offline from what the caller keeps.

import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { ChainKey, JsonObject } from '../../log/index.ts';
import type { Finding, Json, Question, Shown, Trust, Verifier } from '../../log/verify.ts';
import { acting, CommandError, EXIT } from '../command-line.ts';
import { parseInstant } from '../duration.ts';
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
        'report or exhibit pack, a tlog-proof, the proof of a clearing slot, a checkpoint, a finding of a monitor or a kit: a file, an address, or - for ' +
        'standard input. The kind of document is recognised by its content. With a file as --kit, no request is sent to the service.',
    )
    .option(
      '--kit <file>',
      'the offline verification kit to trust: a file kept earlier, or an address',
    )
    .option('--url <address>', 'fetch the kit of this service now, and trust its operator for it')
    .option(
      '--policy <file>',
      "witness policy (C2SP tlog-policy) of your own, in place of the kit's",
    )
    .option('--origin <origin>', 'origin of the log, if the kit has several')
    .option('--proof <file>', 'tlog-proof of the receipt')
    .option('--receipt <file>', 'receipt or entry of the tlog-proof')
    .option('--key <json>', 'absence: the chain you ask about, such as ["session","…"]')
    .option('--from <time>', 'absence: first moment of the window, ms or a date')
    .option('--to <time>', 'absence: last moment of the window')
    .option(
      '--after <index>',
      'absence: for a further page, the index of the last entry of the previous page',
    )
    .option('--as-asked', 'absence: take the question from the document, and print it')
    .option('--chain <kind=members...>', 'absence: chain kinds that entry types declare')
    .option('--require-ml-dsa', 'refuse checkpoints that the log has not signed with ML-DSA-44 too')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Documents of plugins that the environment variable PLUGINS names are checked by these plugins.
Exits 0 when every document is valid, 1 when one is invalid, 2 when this cannot be decided.

  curl -s $BASE/export/offline-verify-kit.json > kit.json     once, and keep it
  actlog verify receipt.json --kit kit.json
  actlog verify live-1.violation.json --kit kit.json
  actlog verify "$BASE/r/$ENTRY_ID"                           trusts the operator's kit
  actlog verify absent.json --kit kit.json --key '["session","…"]' --from 2026-05-01 --to 2026-05-02`,
    )
    .action(acting(EXIT.unknown, verify));
}

async function verify(what: string, options: VerifyOptions): Promise<number> {
  const { isLogError, isUnanswerable, recogniseDocuments } =
    await import('../../plugins/verifiers.ts');
  const { readKit } = await import('../verify/trust.ts');
  const address = /^https?:\/\//.test(what) ? answerAddress(new URL(what)) : null;
  const bytes = await read(what, address);
  const by = await allVerifiers();
  let documents: readonly Shown[];
  try {
    documents = recogniseDocuments(bytes, by);
  } catch (error) {
    if (isUnanswerable(error)) throw new CommandError(error.message, EXIT.unknown);
    if (!isLogError(error)) throw error;
    throw new CommandError(`INVALID: this is not JSON as receipts have it: ${error.message}`);
  }
  const [shown] = documents;
  if (shown?.kind === 'kit') {
    refuseUnasked(shown, options);
    return verifyKit(what, textOf(shown.document), address, options);
  }
  const kit = await readKit(options, address);
  let exit: number = EXIT.ok;
  for (const one of askedAbout(documents, options)) {
    refuseUnasked(one, options);
    exit = Math.max(exit, await checkOne(one, kit, options, by));
  }
  return exit;
}

/** The verifiers of the package, and those of the plugins that the environment variable PLUGINS names. */
async function allVerifiers(): Promise<readonly Verifier[]> {
  const { verifiers, verifiersWith } = await import('../../plugins/verifiers.ts');
  const { PLUGINS: named = '' } = process.env;
  if (named.trim() === '') return verifiers;
  const { servedPlugins } = await import('../../gateway/host/external-plugins.ts');
  const { orderPlugins } = await import('../../gateway/host/host.ts');
  const names = named.split(',').map((name) => name.trim());
  const plugins = orderPlugins(await servedPlugins(names.filter((name) => name !== '')));
  return verifiersWith(plugins.flatMap(({ verifiers: own = [] }) => own));
}

async function verifyKit(
  source: string,
  text: string,
  address: URL | null,
  options: VerifyOptions,
): Promise<number> {
  const { originsOf } = await import('../../plugins/verifiers.ts');
  const { checkKit } = await import('../verify/kit.ts');
  const { kitOf, readKit, trustOf } = await import('../verify/trust.ts');
  const kit = { kit: kitOf(text, source), source, fetched: address !== null };
  const origins = originsOf(kit.kit);
  const trusts = await Promise.all(origins.map((origin) => trustOf(kit, origin, options)));
  const pinned = options.kit ?? options.url;
  const compared = pinned === undefined ? null : (await readKit(options, address)).kit;
  const about = { kind: 'kit', title: 'an offline verification kit' };
  return print(about, await checkKit(kit.kit, trusts, compared), kit, null, options);
}

/** Of a witness about several surfaces, the documents that the question is about; all of them with --as-asked. */
function askedAbout(
  documents: readonly Shown[],
  { key, asAsked }: VerifyOptions,
): readonly Shown[] {
  if (documents.length === 1) return documents;
  const keys = documents.map(({ document }) => {
    const { question } = document as JsonObject;
    return JSON.stringify((question as JsonObject | null | undefined)?.key);
  });
  const asked = key === undefined ? null : JSON.stringify(keyOf(key));
  const chosen = documents.filter((_, i) => asked === null || keys[i] === asked);
  if (chosen.length === 1 || (chosen.length > 1 && asAsked === true)) return chosen;
  const hint =
    asked === null
      ? 'choose one with --key'
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
 * Refuses an option that the document cannot answer. A caller who asks about a window would otherwise take a good
 * receipt, in an answer whose document is of no known form, for the proof.
 */
function refuseUnasked({ kind }: Shown, options: VerifyOptions): void {
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

/** Checks one document that is no kit, and prints the finding. */
async function checkOne(
  shown: Shown,
  kit: Kit,
  options: VerifyOptions,
  by: readonly Verifier[],
): Promise<number> {
  const { checkDocument, isUnanswerable, logOfDocument, originsOf, STRANGE_LOG } =
    await import('../../plugins/verifiers.ts');
  const { titleOfDocument, Unanswerable } = await import('../../plugins/verifiers.ts');
  const { trustOf } = await import('../verify/trust.ts');
  const { native } = await import('../../log/index.ts');
  try {
    const origins = originsOf(kit.kit);
    const origin = options.origin ?? logOfDocument(shown, origins, by);
    if (!origins.includes(origin)) {
      throw new Unanswerable(
        `the kit does not know the log ${JSON.stringify(origin)}: ${STRANGE_LOG}`,
      );
    }
    const trust = await trustOf(kit, origin, options);
    const question =
      shown.kind === 'absence' ? questionOf(options, shown.document as Json) : undefined;
    if (question !== undefined && options.asAsked === true && options.json !== true) {
      console.log(`question, taken from the document: ${JSON.stringify(question)}\n`);
    }
    const { proof, receipt } = options;
    const asked = {
      suite: native,
      kit: kit.kit,
      ...(proof === undefined ? {} : { tlogProof: await readFile(proof, 'utf8') }),
      ...(receipt === undefined ? {} : { receipt: await readFile(receipt, 'utf8') }),
      ...(question === undefined ? {} : { question }),
    };
    const about = { kind: shown.kind, title: titleOfDocument(shown, by) };
    return await print(about, await checkDocument(shown, trust, asked, by), kit, trust, options);
  } catch (error) {
    if (!isUnanswerable(error)) throw error;
    throw new CommandError(`${error.message}${hintOf(error.needs, shown)}`, EXIT.unknown);
  }
}

/** Which option brings what a verifier needs. */
function hintOf(needs: 'question' | 'entry' | null, { document }: Shown): string {
  if (needs === 'entry') return ': give --receipt FILE';
  if (needs === null) return '';
  const asked = JSON.stringify(parsed(document as Json)['question'] ?? null);
  return `: give --key, --from and --to, or --as-asked to take the document's own: ${asked}`;
}

/** The `verify_url` of a receipt is a page; what it is about is the answer of the lookup. */
function answerAddress(url: URL): URL {
  if (!url.pathname.endsWith('/verify') || !url.searchParams.has('entry_id')) return url;
  const lookup = new URL(url);
  lookup.pathname = url.pathname.replace(/\/verify$/, '/receipt/lookup');
  return lookup;
}

async function read(what: string, address: URL | null): Promise<Uint8Array> {
  const { MAX_BYTES } = await import('../../plugins/verifiers.ts');
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
  const own = parsed(document)['question'] as unknown as Question | undefined;
  if (own === undefined) return undefined;
  return {
    ...own, // what the caller asked takes precedence
    ...(key === undefined ? {} : { key: keyOf(key) }),
    ...(from === undefined ? {} : { from_ms: parseInstant(from) }),
    ...(to === undefined ? {} : { to_ms: parseInstant(to) }),
    ...page,
  };
}

const parsed = (document: Json): JsonObject =>
  (typeof document === 'string' ? JSON.parse(document) : document) as JsonObject;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

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
  { kind, title }: { readonly kind: string; readonly title: string },
  finding: Finding,
  kit: Kit,
  trust: Trust | null,
  { json }: VerifyOptions,
): Promise<number> {
  const { valid, untold, sandbox, checks, summary, facts } = finding;
  const exit = valid ? EXIT.ok : untold === true ? EXIT.unknown : EXIT.failed;
  const policy_source = trust?.policy_source ?? 'operator';
  if (json === true) {
    const trusted = { kit: kit.source, fetched: kit.fetched, origin: trust?.origin ?? null };
    const told = { valid, ...(untold === true ? { untold } : {}), ...(sandbox ? { sandbox } : {}) };
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
  const { certificate, paintFor } = await import('../verify/certificate.ts');
  const checked = { finding, title, origin: trust?.origin ?? null, kit: kit.source };
  const { fetched } = kit;
  const paint = paintFor(process.stdout, process.env);
  for (const line of certificate({ ...checked, fetched, policy_source }, paint)) console.log(line);
  return exit;
}

interface VectorsOptions {
  readonly suite: string;
}

/** Declares the command. */
export function addVectors(program: Command): void {
  program
    .command('vectors <file>')
    .summary('print the verdict on each test vector of a file')
    .description(
      'A file of Ed25519 signatures (an array of {number, key, msg, sig}, hex except the message) or of ' +
        'absence documents (the form of test/vectors/absence.json). One line of JSON for each.',
    )
    .option('--suite <name>', 'native, or portable: what browsers run', 'native')
    .action(acting(EXIT.unknown, run));
}

async function run(file: string, { suite: name }: VectorsOptions): Promise<number> {
  const { suiteOf, verdicts } = await import('../verify/vectors.ts');
  const suite = suiteOf(name);
  if (suite === null) throw new CommandError('--suite is native or portable', EXIT.unknown);
  const vectors = JSON.parse(await readFile(file, 'utf8')) as Json;
  for (const verdict of verdicts(vectors, suite)) {
    console.log(JSON.stringify(verdict));
  }
  return EXIT.ok;
}
