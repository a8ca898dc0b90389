// Loaded before a server of MCP (`node --import`): appends one line of JSON to the file that RECEIVED names for the start
// of the process, and for each call of a tool, before the server reads it.

import { appendFileSync } from 'node:fs';

const file = process.env['RECEIVED'] ?? '';
const { stdin } = process;

function note(line: object): void {
  appendFileSync(file, `${JSON.stringify({ at_ms: Date.now(), ...line })}\n`);
}

let rest = '';
const emit = stdin.emit.bind(stdin);
stdin.emit = (event: string | symbol, ...given: unknown[]): boolean => {
  if (event === 'data') {
    const lines = (rest + String(given[0])).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { method, params } = JSON.parse(line) as {
        method?: string;
        params?: { arguments: object };
      };
      if (method === 'tools/call') note({ arguments: params?.arguments });
    }
  }
  return emit(event, ...given);
};

note({ pid: process.pid, parent: process.ppid });
