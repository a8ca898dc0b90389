// Runs an operator command on a data folder, with the settings of an environment.

import { readConfig } from '../../gateway/config.ts';
import type { AdminArgs } from '../../gateway/tenants/admin.ts';
import { adminCall as call } from '../../gateway/tenants/admin-call.ts';
import type { Json } from '../../plugins/contract/index.ts';

/** The answer of the server that holds the folder, or of the command on the folder itself. */
export const adminCall = async (
  data: string,
  verb: string,
  args: AdminArgs = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Json> => call(readConfig({ ...env, DATA_DIR: data }), verb, args);
