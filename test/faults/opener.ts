// A child process of second-process.test.ts: opens the log in the given folder and prints the result as one line of
// JSON.

import { openLog, openThreads } from '../../log/index.ts';

const threads = openThreads({ inline: true });
try {
  const log = await openLog({
    data: process.argv[2] ?? '',
    kind: 'live',
    origin_base: 'log.example',
    threads,
  });
  await log.close();
  console.log(JSON.stringify({ code: null }));
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  console.log(JSON.stringify({ code, message }));
}
await threads.close();
