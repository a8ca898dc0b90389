// A server of MCP for tests, on its standard streams, without an SDK: it writes each line that it receives to the file
// that ODD_LINES names, and answers in spellings that a re-serialised message would lose.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const file = process.env['ODD_LINES'] ?? '';
const tools = ['count', 'Odd.Name'].map((name) => ({ name, inputSchema: { type: 'object' } }));

function answer(line: string): void {
  appendFileSync(file, `${line}\n`);
  const { id, method, params } = JSON.parse(line) as {
    id?: string | number;
    method?: string;
    params?: { cursor?: string; arguments?: { silent?: boolean; end?: boolean } };
  };
  const say = (result: string): void => {
    process.stdout.write(`{"id" : ${JSON.stringify(id)}, "result" : ${result}, "jsonrpc":"2.0"}\n`);
  };
  if (method === 'tools/list') {
    const first = params?.cursor === undefined;
    say(
      JSON.stringify({
        tools: [first ? tools[0] : tools[1]],
        ...(first ? { nextCursor: '2' } : {}),
      }),
    );
  } else if (method === 'tools/call') {
    if (params?.arguments?.end === true) process.exit(3);
    if (params?.arguments?.silent !== true) {
      say(
        '{"content" : [ ], "big":12345678901234567890, "float":1.0, "_meta" : {"x/y":"\\u00e9"}}',
      );
    }
  } else if (method === 'x/ask') {
    process.stdout.write(
      '{"jsonrpc":"2.0","method":"x/server-asks","id":"s1","params":{"n":1e2}}\n',
    );
    process.stdout.write('{"jsonrpc":"2.0","method":"notifications/x","params":{"a":  1.0}}\n');
    say('{}');
  } else if (id !== undefined && method !== undefined) {
    say('{ "odd": 1e2 }');
  }
}

createInterface({ input: process.stdin }).on('line', answer);
