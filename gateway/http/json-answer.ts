// Turns bodies into text or a Buffer, which Koa sends unchanged. Koa would send a Uint8Array as JSON, and would
// serialise an object twice to measure it.

import { ReadyJson } from '../../plugins/contract/index.ts';
import { memberName } from '../../log/index.ts';
import type { RequestContext } from './request.ts';

/** The type of every JSON answer. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers with a value as JSON. */
function answerJson(ctx: RequestContext, value: object): void {
  answerText(ctx, JSON.stringify(value));
}

/** Serialises an answer that may be JSON text already, or may have members that are. */
export function printAnswer(answer: object): string {
  if (answer instanceof ReadyJson) return printReady(answer);
  let text = '';
  for (const name of Object.keys(answer)) {
    const member = (answer as Readonly<Record<string, unknown>>)[name];
    // As JSON.stringify does: members without a JSON value are left out.
    const value = (member instanceof ReadyJson ? printReady(member) : JSON.stringify(member)) as
      string | undefined;
    if (value !== undefined) text += `${text === '' ? '{' : ','}${memberName(name)}${value}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

/** Serialises pre-rendered JSON text together with extra members. */
export function printReady({ text, more }: ReadyJson): string {
  const rest = printAnswer(more);
  return rest === '{}' ? text : `${text.slice(0, -1)},${rest.slice(1)}`;
}

/** Answers with JSON text. */
export function answerText(ctx: RequestContext, json: string): void {
  ctx.res.setHeader('Content-Type', JSON_TYPE);
  ctx.response.body = json;
}

/** Whether a body is a stream, which is written while it is sent. */
export const isStream = (body: unknown): boolean =>
  typeof (body as { readonly pipe?: unknown } | null | undefined)?.pipe === 'function';

/** Converts the body that a handler set into the form that is sent. */
export function finishBody(ctx: RequestContext): void {
  const body = ctx.body;
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return;
  if (body instanceof Uint8Array) {
    ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  } else if (!isStream(body)) {
    answerJson(ctx, body);
  }
}
