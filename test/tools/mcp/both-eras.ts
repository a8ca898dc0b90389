// An MCP server for tests that supports the protocol versions 2025-11-25 and 2026-07-28, on its standard streams or over
// HTTP.

import { inputRequired, McpServer, fromJsonSchema } from '@modelcontextprotocol/server';

/** One instance, for one connection or request. */
export function bothEras(): McpServer {
  const server = new McpServer({ name: 'both', version: '1.0.0' });
  server.registerTool(
    'add',
    {
      inputSchema: fromJsonSchema<{ a: number; b: number }>({
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      }),
      outputSchema: fromJsonSchema<{ sum: number }>({
        type: 'object',
        properties: { sum: { type: 'number' } },
        required: ['sum'],
      }),
    },
    ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool(
    'ask_back',
    { inputSchema: fromJsonSchema<object>({ type: 'object' }) },
    (_args, ctx) => {
      const { inputResponses, requestState } = ctx.mcpReq;
      if (inputResponses === undefined) {
        return inputRequired({
          requestState: 'state-of-round-1',
          inputRequests: {
            name: inputRequired.elicit({
              message: 'Who?',
              requestedSchema: {
                type: 'object',
                properties: { name: { type: 'string' } },
                required: ['name'],
              },
            }),
          },
        });
      }
      const text = `${JSON.stringify(inputResponses)} ${String(requestState())}`;
      return { content: [{ type: 'text', text }] };
    },
  );
  return server;
}
