// `actlog classify`: JSON lines {text, domain?} in, one JSON line each out, in order. gateway/API.md §6; no log, no network.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { loadEngine } from '../../plugins/classify/engine/index.ts';
import type { Classified, Engine } from '../../plugins/classify/engine/index.ts';

const DEFAULT_DOMAIN = 'hiring';

/**
 * Answers every line with `{classification, violation_milli, crisis_milli, rule_ids, classifier}`; a line that is not such an
 * object is an ERROR with its `reason`. Stops when standard output is closed. Resolves to the exit code: 0, or 1 when any
 * line could not be read.
 */
export async function classify(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<number> {
  const engine = loadEngine();
  let code = 0;
  const unread = new AbortController();
  output.once('error', () => {
    unread.abort();
  });
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const request = parseLine(line);
    if (request === undefined) code = 1;
    const answer =
      request === undefined
        ? {
            ...said(engine, engine.classify('', 'general')),
            reason: 'not a line of {"text": string, "domain"?: string}',
          }
        : said(engine, engine.classify(request.text, request.domain));
    if (!output.write(`${JSON.stringify(answer)}\n`)) await once(output, 'drain').catch(() => null);
    if (unread.signal.aborted) break;
  }
  return code;
}

function parseLine(line: string): { text: string; domain: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { text, domain = DEFAULT_DOMAIN } = value as Record<string, unknown>;
  return typeof text === 'string' && typeof domain === 'string' ? { text, domain } : undefined;
}

function said(engine: Engine, found: Classified): object {
  const {
    classification,
    violation_milli,
    crisis_milli,
    score_milli,
    rule_ids,
    domain,
    language_unsupported,
  } = found;
  return {
    classification,
    violation_milli,
    crisis_milli,
    score_milli,
    rule_ids,
    domain,
    language_unsupported,
    classifier: { id: engine.id, version: engine.version, weights_sha256: engine.weights_sha256 },
  };
}
