// Preloaded by mocha: the checkpoint registers of test logs go to a temporary folder instead of the state folder of
// the user. Child processes inherit the setting.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'actlog-state-'));
process.env['XDG_STATE_HOME'] = folder;
process.on('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});
