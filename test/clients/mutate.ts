// Mutates documents: a JSON member, a number, a link, a path, a hash, a signature, a time, the question, or bytes of the
// file. Some mutants are signed again with the key of the log, because a log may also sign what breaks the format.

import { native } from '../../log/crypto/native.ts';
import { fromHex, toBase64, toHex, utf8 } from '../../log/encoding/bytes.ts';
import { canonical } from '../../log/encoding/canonical.ts';
import { isJsonObject } from '../../log/encoding/json.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { leafHash } from '../../log/merkle/hash.ts';
import { cosignatureMessage } from '../../log/note/note.ts';
import { CHECKPOINT_KEY, RECEIPT_KEY } from '../support/forge.ts';
import { seedKey } from '../support/seed-key.ts';
import type { Case } from './corpus.ts';
import type { Random } from './random.ts';

type Place = { readonly container: Json[] | Record<string, Json>; readonly name: string | number };

/** Values in place of an expected one. */
const ODD: readonly Json[] = [
  ...[null, true, false, 0, 1, -1, 2 ** 53 - 1, 2 ** 53, 0.5, 1e21, '', 'x', '\u00e9', '😂'],
  ...[[], {}, [[]], { erased: true }],
];
const NAMES = ['x', '__proto__', 'after', 'receipt', 'entries', 'more', 'declared', 'coverage', ''];
const WITNESSES = [0x51, 0x52, 0x53].map(seedKey);

/** One case with one to three changes. */
export function mutate(random: Random, seed: Case): Case {
  let mutant = seed;
  const changes = random.once(4) ? 2 + random.below(2) : 1;
  for (let i = 0; i < changes; i++) mutant = change(random, mutant);
  // The question is sent to a client as strict JSON, which has no lone surrogates.
  return { ...mutant, ask: wellFormed(mutant.ask as Json) as Case['ask'] };
}

function wellFormed(value: Json): Json {
  const text = JSON.stringify(value, (_, part: Json) =>
    typeof part === 'string' ? Buffer.from(part).toString() : part,
  );
  return JSON.parse(text) as Json;
}

function change(random: Random, seed: Case): Case {
  if (random.once(12)) return narrow(random, seed);
  if (random.once(12)) return changeAsk(random, seed);
  if (random.once(8)) return { ...seed, file: changeBytes(random, seed.file) };
  const text = seed.file.toString('utf8');
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { ...seed, file: Buffer.from(changeText(random, text)) };
  }
  if (random.once(10)) return { ...seed, file: Buffer.from(respell(random, text)) };
  const signed = isJsonObject(value) && 'entry_hash' in value && random.once(3);
  const changed = signed ? signReceipt(random, value as JsonObject) : changeJson(random, value);
  return { ...seed, file: Buffer.from(JSON.stringify(changed)) };
}

/** A part of the window in the question; sometimes a part that exceeds it, or another chain. */
function narrow(random: Random, seed: Case): Case {
  const { question } = seed.ask;
  if (question === undefined || !isJsonObject(question)) return changeAsk(random, seed);
  const { from_ms: from, to_ms: to } = question;
  if (typeof from !== 'number' || typeof to !== 'number' || !(to > from)) {
    return changeAsk(random, seed);
  }
  // Entries of the corpus are one second apart.
  const steps = Math.min(60, Math.ceil((to - from) / 1000));
  const near = (ms: number): number => ms + random.pick([-1, 0, 0, 1]);
  const a = random.once(3) ? from : near(from + 1000 * random.below(steps + 1));
  const b = random.once(3) ? to : near(to - 1000 * random.below(steps + 1));
  const part = random.once(8)
    ? [a, b]
    : [Math.max(from, Math.min(a, b)), Math.min(to, Math.max(a, b))];
  const asked: JsonObject = { ...question, from_ms: part[0]!, to_ms: part[1]! };
  const key = random.pick<Json>([
    ['gate.case', 'x'],
    ['gate.case', 1, 2],
    ['session', 'x'],
  ]);
  return { ...seed, ask: { question: random.once(12) ? { ...asked, key } : asked } };
}

/** Changes the question, the proof or the entry given with the document; the question also in the document. */
function changeAsk(random: Random, seed: Case): Case {
  const { ask } = seed;
  if (ask.proof !== undefined) return { ...seed, ask: { proof: changeText(random, ask.proof) } };
  if (ask.receipt !== undefined) {
    return { ...seed, ask: { receipt: changeText(random, ask.receipt) } };
  }
  if (ask.question === undefined) return { ...seed, file: changeBytes(random, seed.file) };
  const question = changeJson(random, ask.question);
  if (random.once(2)) return { ...seed, ask: { question } };
  try {
    const document = JSON.parse(seed.file.toString('utf8')) as JsonObject;
    const file = Buffer.from(JSON.stringify({ ...document, question }));
    return { ...seed, file, ask: random.once(4) ? { as_asked: true } : { question } };
  } catch {
    return { ...seed, ask: { question } };
  }
}

function changeBytes(random: Random, file: Buffer): Buffer {
  const at = random.below(file.length);
  const bytes = Buffer.from(file);
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    case 1:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.of(random.below(256)),
        bytes.subarray(at),
      ]);
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return Buffer.concat([Buffer.from('\ufeff'), bytes]);
    default:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
  }
}

/** Changes a text that is not JSON: a note, a tlog-proof, an entry. */
function changeText(random: Random, text: string): string {
  if (text === '') return 'x';
  if (text.includes('\n\n\u2014 ') && random.once(2)) return changeNote(random, text);
  const lines = text.split('\n');
  const at = random.below(lines.length);
  const line = lines[at] ?? '';
  switch (random.below(7)) {
    case 0:
      lines.splice(at, 1);
      break;
    case 1:
      lines.splice(at, 0, line);
      break;
    case 2:
      lines.splice(at, 0, random.pick(lines));
      break;
    case 3:
      lines[at] = random.pick([
        '',
        ' ',
        '0',
        `0${line}`,
        `${line} `,
        `${line}=`,
        line.toUpperCase(),
      ]);
      break;
    default:
      lines[at] = changeString(random, line);
  }
  return lines.join('\n');
}

/**
 * Changes the text of a checkpoint, and signs it again with the log key and perhaps with witnesses at another time.
 */
function changeNote(random: Random, note: string): string {
  const border = note.lastIndexOf('\n\n');
  const text = random.once(3)
    ? note.slice(0, border + 1)
    : changeText(random, note.slice(0, border + 1));
  const lines = note
    .slice(border + 2)
    .split('\n')
    .filter((line) => line !== '');
  const signed = lines.map((line) => signLine(random, line, text));
  if (random.once(4) && signed[0] !== undefined) signed.push(random.pick(signed));
  return `${text}\n${signed.map((line) => `${line}\n`).join('')}`;
}

/** The line of a signature over this text by the same key; of a cosigner with its time or one near it. */
function signLine(random: Random, line: string, text: string): string {
  const [dash = '', name = '', base64 = ''] = line.split(' ');
  const bytes = Buffer.from(base64, 'base64');
  // The line of an ML-DSA-44 key is not changed, because a signature takes 20 ms.
  if (bytes.length > 76) return line;
  const id = bytes.subarray(0, 4);
  if (bytes.length !== 76) {
    return `${dash} ${name} ${toBase64(Buffer.concat([id, CHECKPOINT_KEY.sign(utf8(text))]))}`;
  }
  const old = Number(bytes.readBigUInt64BE(4));
  const time = random.pick([old, old, old + 1, old - 60, old - 61, 0, 2 ** 53]);
  const key = name.endsWith('one')
    ? WITNESSES[0]
    : name.endsWith('two')
      ? WITNESSES[1]
      : WITNESSES[2];
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(BigInt(Math.max(0, time)));
  const signature = key!.sign(cosignatureMessage(text, Math.max(0, time)));
  return `${dash} ${name} ${toBase64(Buffer.concat([id, stamp, signature]))}`;
}

/** Changes the statement of a receipt and signs it again, with or without its place in the log. */
function signReceipt(random: Random, receipt: JsonObject): Json {
  const { entry_hash, permalink, verify_url, disclosures, log, signature, ...statement } = receipt;
  const changed = random.once(5) ? statement : changeJson(random, statement);
  if (!isJsonObject(changed)) return changed;
  const place = random.once(2) ? {} : { log };
  const beside = { entry_hash, permalink, verify_url, disclosures, ...place, signature };
  try {
    const own = toBase64(RECEIPT_KEY.sign(utf8(canonical(changed))));
    const entry = canonical({ ...changed, signature: own });
    const hash = toHex(leafHash(native, utf8(entry)));
    const shown = { ...changed, ...beside, signature: own, entry_hash: hash } as JsonObject;
    return random.once(3) ? changeJson(random, shown) : shown;
  } catch {
    return { ...changed, ...beside } as JsonObject;
  }
}

/** The value with one place in it changed. */
export function changeJson(random: Random, value: Json): Json {
  const copy = structuredClone(value);
  const places = placesOf(copy);
  if (places.length === 0) return random.pick(ODD);
  const { container, name } = random.pick(places);
  const members = container as Record<string | number, Json>;
  const old = members[name] ?? null;
  switch (random.below(8)) {
    case 0:
      if (Array.isArray(container)) container.splice(name as number, 1);
      else Reflect.deleteProperty(container, name);
      return copy;
    case 1:
      if (Array.isArray(container)) container.splice(name as number, 0, old);
      else define(container, random.pick(NAMES), random.once(2) ? old : random.pick(ODD));
      return copy;
    case 2: {
      const other = random.pick(places);
      set(
        container,
        name,
        structuredClone((other.container as Record<string | number, Json>)[other.name] ?? null),
      );
      return copy;
    }
    case 3:
      set(container, name, random.pick(ODD));
      return copy;
    default:
      set(container, name, changeValue(random, old));
      return copy;
  }
}

function set(container: Place['container'], name: string | number, value: Json): void {
  if (Array.isArray(container)) container[Number(name)] = value;
  else define(container, name as string, value);
}

/** `__proto__` is an ordinary name. */
function define(container: Record<string, Json>, name: string, value: Json): void {
  const plain = { value, enumerable: true, configurable: true, writable: true };
  Object.defineProperty(container, name, plain);
}

function placesOf(value: Json, found: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return found;
  const container = value as Json[] | Record<string, Json>;
  for (const [name, member] of Object.entries(container)) {
    found.push({ container, name: Array.isArray(container) ? Number(name) : name });
    placesOf(member, found);
  }
  return found;
}

function changeValue(random: Random, value: Json): Json {
  if (typeof value === 'number') {
    const other = [
      value + 1,
      value - 1,
      -value,
      value * 2,
      value + 1000,
      value - 1000,
      value + 0.5,
    ];
    return random.pick([...other, String(value)]);
  }
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) {
    const list = [...(value as Json[])];
    return random.pick([
      list.toReversed(),
      list.slice(1),
      list.slice(0, -1),
      [...list, ...list],
      [],
    ]);
  }
  if (typeof value !== 'string') return random.pick(ODD);
  if (value.startsWith('{"')) return changeEntry(random, value);
  if (value.includes('\n\n\u2014 ')) return changeText(random, value);
  return changeString(random, value);
}

/** Changes an entry: a member, its form or its text; signed again or not. */
function changeEntry(random: Random, text: string): string {
  if (random.once(4)) return changeString(random, text);
  if (random.once(5)) return respell(random, text);
  try {
    const { signature, ...statement } = JSON.parse(text) as JsonObject;
    const changed = changeJson(random, statement) as JsonObject;
    const own = random.once(2)
      ? toBase64(RECEIPT_KEY.sign(utf8(canonical(changed))))
      : (signature ?? null);
    return canonical({ ...changed, signature: own });
  } catch {
    return changeString(random, text);
  }
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_ ';

function changeString(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const digit = DIGITS[random.below(DIGITS.length)] ?? 'A';
  switch (random.below(7)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + digit + text.slice(at);
    case 2:
      return text.toUpperCase();
    case 3:
      // The same bytes in another encoding: spare bits, white space, hex.
      return random.pick([
        spare(text),
        `${text}\n`,
        ` ${text}`,
        text.replace(/=+$/, ''),
        `${text}=`,
      ]);
    case 4:
      return /^(?:[0-9a-f]{2})+$/.test(text) ? toBase64(fromHex(text)) : text.slice(0, at);
    default:
      return text.slice(0, at) + digit + text.slice(at + 1);
  }
}

/** Base64 with other spare bits in the last digit before the padding. */
const spare = (text: string): string =>
  text.replace(/(.)(=*)$/, (_, digit: string, padding: string) => {
    const value = DIGITS.indexOf(digit);
    return (DIGITS[value ^ 1] ?? digit) + padding;
  });

/** The same or nearly the same JSON value in another encoding. */
function respell(random: Random, text: string): string {
  const at = random.below(text.length);
  const near = (find: RegExp, change: (found: string) => string): string => {
    const tail = text.slice(at);
    return text.slice(0, at) + tail.replace(find, change);
  };
  switch (random.below(9)) {
    case 0:
      return near(/[[{,:]/, (found) => `${found} `);
    case 1:
      return near(/[a-z]/, (found) => `\\u00${found.charCodeAt(0).toString(16)}`);
    case 2:
      return near(/\d+(?=[,}\]])/, (found) =>
        random.pick([`${found}.0`, `${found}e0`, `0${found}`, `-${found}`]),
      );
    case 3:
      return near(/\d+(?=[,}\]])/, () =>
        random.pick(['-0', '1E400', '9007199254740993', '1e-400', '+1']),
      );
    case 4:
      return near(/"(\w+)":[^,{}[\]]*,/, (found) => found + found);
    case 5:
      return near(/"/, () => '"\\ud800');
    case 6:
      return near(/\//, () => '\\/');
    case 7:
      return near(/[[{]/, (found) => found.repeat(1 + random.below(20)));
    default:
      return random.pick([`${text} `, `\n${text}`, `${text}x`, `\u00a0${text}`, `${text}\0`]);
  }
}
