// What a third party's check of an absence document costs beside the signatures in it: with the native suite, and
// in the browser build with its own. Processor time, so that other work on the machine does not count.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generateKey, native } from '../../log/index.ts';
import type { JsonObject, Log } from '../../log/index.ts';
import { COSIGNER_KEY, formatVkey, signCosignature, Signer, splitNote } from '../../log/operate.ts';
import { parsePolicy, trustedKeyOf, verifyAbsence } from '../../log/verify.ts';
import type * as verifier from '../../log/verify.ts';
import type { Question, Suite, Trust } from '../../log/verify.ts';
import { quotient, stealMeter } from './figure.ts';
import type { Figure } from './figure.ts';

/** A document that three witnesses have cosigned, as its asker checks it. */
export interface Witnessed {
  readonly text: string;
  readonly question: Question;
  readonly trust: Trust;
}

const WITNESSES = ['one', 'two', 'three'];

/** Short ones, so that a slow spell of the machine meets both sides of a turn. */
const TURNS = 45;
const WARM_TURNS = 25;

/** Cosigns the checkpoint of a document that a log has just made, and trusts who did. */
export function witnessed(log: Log, document: JsonObject): Witnessed {
  const note = document['checkpoint'] as string;
  const { text } = splitNote(note);
  const { ms } = headOf(document);
  const cosigners = WITNESSES.map((witness) => {
    const name = `witness.example/${witness}`;
    const signer = new Signer(generateKey());
    return {
      line: signCosignature(native, signer, name, text, Math.ceil(ms / 1000)),
      policy: `witness ${witness} ${formatVkey(native, name, COSIGNER_KEY, signer.publicKey)}`,
    };
  });
  const policy = [
    ...cosigners.map((cosigner) => cosigner.policy),
    `group all-of-them all ${WITNESSES.join(' ')}`,
    'quorum all-of-them\n',
  ].join('\n');
  const checkpoint = note + cosigners.map(({ line }) => line).join('');
  return {
    text: JSON.stringify({ ...document, checkpoint }),
    question: document['question'] as unknown as Question,
    trust: {
      origin: log.origin,
      vkey: log.vkey,
      keys: log.receiptKeys().map(trustedKeyOf),
      policy: parsePolicy(native, policy),
    },
  };
}

function headOf(document: JsonObject): { readonly ms: number } {
  const { entry } = document['map_head'] as { readonly entry: string };
  return { ms: (JSON.parse(entry) as { readonly issued_at_ms: number }).issued_at_ms };
}

/** A signature as `Suite.verify` takes it. */
type Signed = Parameters<Suite['verify']>;

/** Both figures; the second needs `npm run build`. */
export async function offline(document: Witnessed): Promise<Figure[]> {
  const { text, question, trust } = document;
  const signed: Signed[] = [];
  const recording: Suite = {
    ...native,
    verify: (...signature) => {
      signed.push(signature);
      return native.verify(...signature);
    },
  };
  const { witnessed: seen, verdict } = verifyAbsence(text, question, trust, { suite: recording });
  if (seen !== WITNESSES.length || verdict !== 'ABSENT') throw new Error('the document is another');
  const built = await browserBuild();
  return [
    await figure({
      name: 'witness.offline',
      what: 'checking a document with three cosignatures, native ÷ its signature checks, processor time',
      signed,
      runs: 100,
      whole: () => verifyAbsence(text, question, trust, { suite: native }),
      one: (signature) => native.verify(...signature),
    }),
    await figure({
      name: 'witness.offline_browser',
      what: 'the same by dist/static/verify.js with its own Ed25519',
      signed,
      runs: 6,
      whole: () => built.verifyAbsence(text, question, trust),
      one: ([publicKey, message, signature]) =>
        built.verifySignature({ publicKey, message, signature }),
    }),
  ];
}

interface Compared {
  readonly name: string;
  readonly what: string;
  readonly signed: readonly Signed[];
  /** Of each side in one turn. */
  readonly runs: number;
  readonly whole: () => unknown;
  readonly one: (signed: Signed) => boolean;
}

async function figure({ name, what, signed, runs, whole, one }: Compared): Promise<Figure> {
  const alone = (): void => {
    for (const signature of signed) if (!one(signature)) throw new Error('a signature is bad');
  };
  const micros = (job: () => unknown) => (): Promise<number> => {
    const before = process.cpuUsage();
    for (let run = 0; run < runs; run += 1) job();
    const { user, system } = process.cpuUsage(before);
    return Promise.resolve((user + system) / runs);
  };
  const [wholly, signatures] = [micros(whole), micros(alone)];
  await quotient(WARM_TURNS, wholly, signatures);
  const steal = stealMeter();
  const { over: whole_us, under: signatures_us, ratio } = await quotient(TURNS, wholly, signatures);
  return {
    ...{ name, what, unit: 'ratio', better: 'lower', at_least: 1.3, aim: 1.3 },
    value: ratio,
    parts: { whole_us, signatures_us, signatures: signed.length },
    steal: steal(),
  };
}

async function browserBuild(): Promise<typeof verifier> {
  const way = import.meta.url.endsWith('.ts') ? '../../dist/static/' : '../../static/';
  const file = new URL(`${way}verify.js`, import.meta.url);
  if (!existsSync(fileURLToPath(file))) throw new Error('run "npm run build" first: no verify.js');
  return (await import(file.href)) as typeof verifier;
}
