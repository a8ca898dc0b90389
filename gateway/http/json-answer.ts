// Bodies in the form that Koa sends as they are: text or Buffer. Koa would print a Uint8Array as JSON, and an
// object a second time to measure it.

import { ReadyJson } from '../../plugins/contract/index.ts';
import { memberName } from '../../log/index.ts';
import type { RequestContext } from './request.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers with a value as JSON. */
function answerJson(ctx: RequestContext, value: object): void {
  answerText(ctx, JSON.stringify(value));
}

/** The JSON of an answer that may be text already, or have members that are. */
export function printAnswer(answer: object): string {
  if (answer instanceof ReadyJson) return printReady(answer);
  let text = '';
  for (const name of Object.keys(answer)) {
    const member = (answer as Readonly<Record<string, unknown>>)[name];
    // As the runtime prints members: what is no JSON value is left out.
    const value = (member instanceof ReadyJson ? printReady(member) : JSON.stringify(member)) as
      string | undefined;
    if (value !== undefined) text += `${text === '' ? '{' : ','}${memberName(name)}${value}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

/** The JSON of what is text already, with what stands beside it. */
export function printReady({ text, more }: ReadyJson): string {
  const rest = printAnswer(more);
  return rest === '{}' ? text : `${text.slice(0, -1)},${rest.slice(1)}`;
}

/** Answers with what is JSON text already. */
export function answerText(ctx: RequestContext, json: string): void {
  ctx.res.setHeader('Content-Type', JSON_TYPE);
  ctx.response.body = json;
}

/** Puts the body that a handler set into its final form. */
export function finishBody(ctx: RequestContext): void {
  const body = ctx.body;
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return;
  if (body instanceof Uint8Array) {
    ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  } else if (typeof (body as { pipe?: unknown }).pipe !== 'function') {
    answerJson(ctx, body);
  }
}
