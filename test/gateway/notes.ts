// A small plugin as a third party writes one, for the tests of the host, the middleware and the contract suite.

import Type from 'typebox';
import { definePlugin, route } from '../../plugins/contract/index.ts';
import type { EntryType, Plugin } from '../../plugins/contract/index.ts';

const noteType: EntryType = {
  name: 'notes.note.v1',
  schema: {
    type: 'object',
    required: ['topic', 'number'],
    properties: {
      topic: { type: 'string', pattern: '^[a-z]{1,32}$' },
      number: { type: 'integer' },
    },
    additionalProperties: false,
  },
  keys: [['notes.topic', 'topic']],
  sentence: ({ topic }) => `A note on ${topic as string} was written.`,
  project(entry, rows) {
    rows.put('notes/total', Number(rows.get('notes/total') ?? 0) + 1);
    rows.put(`notes/by-topic/${entry.statement['topic'] as string}`, entry.index);
  },
};

/** Delays the writes of the plugin until it is released. */
export class Hold {
  release!: () => void;
  enter!: () => void;
  readonly wait = new Promise<void>((resolve) => (this.release = resolve));
  /** Resolves when a write is waiting. */
  readonly entered = new Promise<void>((resolve) => (this.enter = resolve));
}

/** The plugin `notes`. */
export function notes(hold?: Hold): Plugin {
  return definePlugin({
    contract: 2,
    name: 'notes',
    title: 'Notes',
    types: [noteType],
    setup: (host) => ({
      routes: [
        route({
          method: 'POST',
          path: '/notes/{topic}',
          aliases: ['/v1/notes/{topic}'],
          tag: 'notes',
          summary: 'Write a note',
          access: 'open',
          idempotent: true,
          params: Type.Object({ topic: Type.String({ pattern: '^[a-z]{1,32}$' }) }),
          body: Type.Object({
            text: Type.String({ maxLength: 100 }),
            number: Type.Optional(Type.Integer()),
          }),
          responses: {
            200: {
              description: 'The receipt, with how many notes stood before it.',
              schema: Type.Object({ number: Type.Integer(), receipt: Type.Unknown() }),
            },
          },
          example: { text: 'hello' },
          handle: async (ctx) => {
            hold?.enter();
            await hold?.wait;
            const { topic } = ctx.state.params;
            await ctx.state.append([
              {
                type: 'notes.note.v1',
                members: (at) => ({ topic, number: Number(at.rows.get('notes/total') ?? 0) }),
                private: { text: ctx.state.body.text },
              },
            ]);
          },
          respond: ([entry]) => ({ number: entry?.statement['number'], receipt: entry?.receipt }),
        }),
        route({
          method: 'GET',
          path: '/notes/total',
          tag: 'notes',
          summary: 'Count notes',
          access: 'read',
          query: Type.Object({ kind: Type.Optional(Type.String({ pattern: '^(live|sandbox)$' })) }),
          responses: {
            200: { description: 'The count.', schema: Type.Object({ total: Type.Integer() }) },
          },
          handle: (ctx) => {
            const kind = ctx.state.query.kind === 'sandbox' ? 'sandbox' : 'live';
            ctx.body = { total: Number(host.log(kind).row('total') ?? 0) };
          },
        }),
        route({
          method: 'GET',
          path: '/notes/secret',
          tag: 'notes',
          summary: 'What only the operator sees',
          access: { roles: ['operator'] },
          responses: { 200: { description: 'Yes.', schema: Type.Object({ ok: Type.Boolean() }) } },
          handle: (ctx) => {
            ctx.body = { ok: true };
          },
        }),
        route({
          method: 'GET',
          path: '/notes/broken',
          tag: 'notes',
          summary: 'A defect',
          access: 'read',
          responses: { 200: { description: 'Never.', type: 'text/plain' } },
          handle: () => {
            throw new TypeError('the secret cause');
          },
        }),
      ],
    }),
  });
}
