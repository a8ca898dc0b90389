// Run as a process of its own by second-process.test.ts: opens the log in the folder that it is given and
// prints how that went, as one JSON line.

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
