// Loaded by mocha before the tests: the checkpoint registers of test logs go to a temporary folder and not to the
// state folder of the user. Processes that tests start inherit it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'actlog-state-'));
process.env['XDG_STATE_HOME'] = folder;
process.on('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});
