// `actlog mcp`: the service as tools of an MCP server, over standard streams or streamable HTTP, both eras of the protocol.
// Each result has the answer of the service as structured content, receipts included, and a sentence as text. The use
// secrets of permits stay in this process.

import { createServer } from 'node:http';
import type { Server as HttpServer } from 'node:http';
import { LRUCache } from 'lru-cache';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { objectOf, objectsOf } from '../../log/verify.ts';
import type { Json, JsonObject, Question, Shown } from '../../log/verify.ts';
import {
  checkDocument,
  isLogError,
  isUnanswerable,
  recogniseDocuments,
  trustFromKit,
  verifiers,
} from '../../plugins/verifiers.ts';
import { ApiError, ConnectionFailed, Unverified } from '../clients/typescript/index.ts';
import type { BodyOf, Client } from '../clients/typescript/index.ts';
import { messageOf, withoutSecret } from '../clients/typescript/hooks/acts.ts';

/** What the tools work with. */
export interface ServerOptions {
  readonly client: Client;
  readonly kit: JsonObject;
  readonly agent_id: string;
}

/** A permit that `ask_gate` was answered with, until `use_permit` uses it. */
interface KeptPermit {
  readonly preimage: JsonObject;
  readonly use_secret: JsonObject;
}

/** Of the tools; clients show it. */
const VERSION = '1.0.0';
const MAX_PERMITS = 10_000;
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

const wordOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const text = (description: string) => ({ type: 'string', description });
const millis = (description: string) => ({ type: 'integer', minimum: 0, description });
const object = (
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
): JsonObject => ({ type: 'object', properties, required }) as unknown as JsonObject; // a JSON Schema is JSON
const receipt = { type: 'object', description: 'The signed receipt (gateway/API.md §1.1).' };
const outcome = { type: 'string', enum: ['PERMIT', 'HOLD', 'DENY', 'SILENCE'] };

/** How CoSAI's and OWASP's texts call a verdict (tools/AGENTS.md, Words). */
export function claimOf(verdict: Json | undefined, isWatched: boolean): string {
  if (verdict === 'ABSENT' && isWatched) return 'established: visibility and complete observation';
  if (verdict === 'ABSENT') return 'not_established for the world: no heartbeats were promised';
  if (verdict === 'UNDERSAMPLED') return 'not_established: observation not complete';
  if (verdict === 'UNDECLARED') return 'not_established: surface not declared';
  return 'refuted: the document lists what was logged';
}

/** The question that an absence document says it answers. The finding names it. */
function questionIn(document: Shown['document']): Question {
  const value = typeof document === 'string' ? (JSON.parse(document) as Json) : document;
  return objectOf(value)['question'] as unknown as Question; // The verifier checks its form.
}

/** The log that a document is of. */
function originOf(kind: string, document: unknown): string {
  const verifier = verifiers.find((one) => one.kind === kind);
  const origin = verifier?.originOf(document as never) ?? null;
  if (origin === null) throw new Error('the document names no log');
  return origin;
}

/** Makes servers that share permits: one for each connection or request. */
export function serverFactory({ client, kit, agent_id }: ServerOptions): () => McpServer {
  const permits = new LRUCache<string, KeptPermit>({ max: MAX_PERMITS });

  async function askGate(args: JsonObject): Promise<Told> {
    const body = { agent_id, ...args } as unknown as BodyOf<'POST', '/api/v1/execute-gate'>; // by the input schema
    const answer = (await client.gate(body)) as unknown as JsonObject; // an answer is JSON
    const { permit, ...rest } = answer;
    const shown = { ...rest, receipt: withoutSecret(objectOf(rest['receipt'])) };
    const { use_secret, ...known } = objectOf(permit);
    if (permit === undefined) return told(shown, `${wordOf(answer['outcome'])}: do not do it.`);
    const id = wordOf(known['permit_id']);
    permits.set(id, { preimage: objectOf(answer['preimage']), use_secret: objectOf(use_secret) });
    return told(
      { ...shown, permit: known },
      `PERMIT. Call use_permit with permit_id ${id} before the act.`,
    );
  }

  async function usePermit({ permit_id }: JsonObject): Promise<Told> {
    const kept = permits.get(wordOf(permit_id));
    if (kept === undefined) {
      throw new Error(
        'this server was not given the permit: ask the gate again with the timestamp_ms and scope of its act',
      );
    }
    const { preimage, use_secret } = kept;
    const body = { ...preimage, receipt: permit_id, use_secret };
    const used = await client.requestAny('POST', '/api/v1/execute-gate/permits/use', { body });
    permits.delete(wordOf(permit_id));
    return told(used, 'The permit is used up: do the act now, once.');
  }

  async function provePresence({ entry_id }: JsonObject): Promise<Told> {
    const id = wordOf(entry_id);
    const found = await client.lookup(id);
    if (found === null) return told({ found: false, entry_id: id }, 'The log has no such entry.');
    const proven = await client.waitForProof(
      objectOf(found as unknown as Json)['receipt'] as never,
    );
    const shown = withoutSecret(proven);
    return told(
      { found: true, entry_id: id, receipt: shown },
      'The entry is in the log; receipt and inclusion proof verify.',
    );
  }

  async function proveAbsence({ tools, ...asked }: JsonObject): Promise<Told> {
    const body = asked as unknown as BodyOf<'POST', '/api/v1/absence/witness'>; // by the input schema
    const answer = (await client.witness(body)) as unknown as JsonObject;
    const documents = [
      ...objectsOf([answer['witness'] ?? null]),
      ...objectsOf(answer['witnesses']),
    ];
    const findings = [];
    for (const document of documents) {
      const question = document['question'] as unknown as Question; // The verifier checks its form.
      const trust = trustFromKit(kit, originOf('absence', document));
      const finding = await checkDocument({ kind: 'absence', document }, trust, { question });
      const { heartbeat_interval_ms = null } = finding.facts;
      if (!finding.valid) throw new Error(`the document is invalid: ${finding.summary}`);
      const { verdict, summary } = finding;
      findings.push({
        verdict,
        claim: claimOf(verdict, heartbeat_interval_ms !== null),
        summary,
        document,
      });
    }
    const words = findings.map(({ verdict, claim }) => `${verdict} (${claim})`).join('; ');
    return told({ findings }, `${words}. Acts that were never logged are not seen.`);
  }

  async function verifyDocument({ document }: JsonObject): Promise<Told> {
    const given = typeof document === 'string' ? document : JSON.stringify(document);
    const bytes = new TextEncoder().encode(given);
    if (bytes.length > MAX_DOCUMENT_BYTES) throw new Error('the document is over 16 MiB');
    const findings = [];
    for (const shown of recogniseDocuments(bytes)) {
      const trust = trustFromKit(kit, originOf(shown.kind, shown.document));
      const question = shown.kind === 'absence' ? questionIn(shown.document) : undefined;
      const asked = question === undefined ? {} : { question };
      const { valid, summary } = await checkDocument(shown, trust, { kit, ...asked });
      findings.push({ kind: shown.kind, valid, summary });
    }
    const valid = findings.length > 0 && findings.every((finding) => finding.valid);
    const words = findings.map(({ summary }) => summary).join('; ');
    return told({ valid, findings }, `${valid ? 'Valid' : 'INVALID'}: ${words}`);
  }

  const tools: readonly Tool[] = [
    {
      name: 'classify',
      description:
        'Classifies a message as SAFE, VIOLATION, CRISIS or ERROR, and logs the result. The answer is the receipt.',
      input: object(
        {
          message: text('The message.'),
          domain: text('Whose rules, such as hiring.'),
          session_id: text('The session.'),
        },
        ['message'],
      ),
      output: object({ receipt, classification: { type: 'string' } }, [
        'receipt',
        'classification',
      ]),
      async act(args) {
        const body = args as unknown as BodyOf<'POST', '/api/v1/classify'>; // by the input schema
        const answer = (await client.classify(body)) as unknown as JsonObject;
        const classification = wordOf(answer['classification']);
        return told(
          { receipt: answer, classification },
          `${classification}, logged at ${wordOf(answer['permalink'])}.`,
        );
      },
    },
    {
      name: 'ask_gate',
      description:
        'Asks whether an act may be done. Do the act only after PERMIT and use_permit; HOLD waits for a human.',
      input: object(
        {
          action_type: text('What is to be done, such as payment.release.'),
          agent_id: text('Who is to do it; this server knows a default.'),
          scope: text('What the act is about.'),
          timestamp_ms: millis('Of an act that was asked about before.'),
          entity: text('Whose act it is.'),
          surface: text('The attempt surface.'),
          amount_atomic: { type: ['integer', 'string'], description: 'Amount in atomic units.' },
          currency: text('Its currency.'),
          reversibility: {
            type: 'string',
            enum: ['reversible', 'hard_to_reverse', 'irreversible'],
          },
          session_id: text('The session.'),
          message: text('Text that is classified with the act.'),
        },
        ['action_type'],
      ),
      output: object({ outcome, decision_entry_id: { type: 'string' }, receipt }, [
        'outcome',
        'decision_entry_id',
        'receipt',
      ]),
      act: askGate,
    },
    {
      name: 'use_permit',
      description:
        'Uses up the permit of a PERMIT, immediately before the act. A second use fails.',
      input: object({ permit_id: text('Of the permit that ask_gate answered.') }, ['permit_id']),
      output: object(
        { permit_id: { type: 'string' }, permit_use_id: { type: 'string' }, receipt },
        ['permit_id', 'permit_use_id', 'receipt'],
      ),
      act: usePermit,
    },
    {
      name: 'prove_presence',
      description:
        'Proves that an entry is in the log: its receipt with the inclusion proof, verified by the pinned kit.',
      input: object({ entry_id: text('The id of the entry.') }, ['entry_id']),
      output: object({ found: { type: 'boolean' }, entry_id: { type: 'string' }, receipt }, [
        'found',
        'entry_id',
      ]),
      act: provePresence,
    },
    {
      name: 'prove_absence',
      description:
        'Proves what was logged, or that nothing was, on an attempt surface in a window that is over.',
      input: object(
        {
          entity: text('The entity.'),
          surface: text('Its surface.'),
          from_ms: millis('First moment.'),
          to_ms: millis('Last moment.'),
        },
        ['entity', 'surface', 'from_ms', 'to_ms'],
      ),
      output: object(
        {
          findings: {
            type: 'array',
            items: object(
              {
                verdict: { type: ['string', 'null'] },
                claim: { type: 'string' },
                document: { type: 'object' },
              },
              ['verdict', 'claim', 'document'],
            ),
          },
        },
        ['findings'],
      ),
      act: proveAbsence,
    },
    {
      name: 'verify_document',
      description:
        'Verifies a receipt, absence document, checkpoint or export offline, by the pinned kit.',
      input: object(
        {
          document: {
            type: ['object', 'string'],
            description: 'The document, as JSON or as its text.',
          },
        },
        ['document'],
      ),
      output: object(
        { valid: { type: 'boolean' }, findings: { type: 'array', items: { type: 'object' } } },
        ['valid', 'findings'],
      ),
      act: verifyDocument,
    },
  ];

  return () => {
    const server = new McpServer({ name: 'actlog', version: VERSION });
    for (const { name, description, input, output, act } of tools) {
      const config = {
        description,
        inputSchema: fromJsonSchema<JsonObject>(input), // the SDK's type of a JSON Schema
        outputSchema: fromJsonSchema<JsonObject>(output),
      };
      server.registerTool(name, config, async (args) => answered(() => act(args)));
    }
    return server;
  };
}

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
  readonly act: (args: JsonObject) => Promise<Told>;
}

interface Told {
  readonly structured: JsonObject;
  readonly words: string;
}

const told = (structured: JsonObject, words: string): Told => ({ structured, words });

/** A result with the structured content also as text, for clients that read text alone; what fails is a tool error. */
async function answered(act: () => Promise<Told>): Promise<CallToolResult> {
  try {
    const { structured, words } = await act();
    const content = [words, JSON.stringify(structured)];
    return {
      content: content.map((line) => ({ type: 'text' as const, text: line })),
      structuredContent: { ...structured },
    };
  } catch (error) {
    const code = ApiError.is(error)
      ? error.code
      : ConnectionFailed.is(error)
        ? 'service_unreachable'
        : Unverified.is(error)
          ? 'unverified'
          : isLogError(error) || isUnanswerable(error)
            ? 'not_decided'
            : 'failed';
    return {
      isError: true,
      content: [{ type: 'text', text: `${code}: ${messageOf(error)}` }],
      _meta: { 'dev.actlog/error': { code, message: messageOf(error) } },
    };
  }
}

/** Serves streamable HTTP on a port of this machine, for clients of this machine. */
export async function serveHttp(factory: () => McpServer, port: number): Promise<HttpServer> {
  const { createMcpHandler } = await import('@modelcontextprotocol/server');
  const { localhostHostValidation, localhostOriginValidation, toNodeHandler } =
    await import('@modelcontextprotocol/node');
  const handle = toNodeHandler(createMcpHandler(factory));
  const [isHost, isOrigin] = [localhostHostValidation(), localhostOriginValidation()];
  const http = createServer((req, res) => {
    if (!isHost(req, res) || !isOrigin(req, res)) return;
    void handle(req as Parameters<typeof handle>[0], res);
  });
  http.listen(port, '127.0.0.1');
  await new Promise((resolve, reject) => http.once('listening', resolve).once('error', reject));
  return http;
}
