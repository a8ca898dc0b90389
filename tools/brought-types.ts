// The entry types that the plugins of a configuration bring: what rebuilds and checks their rows.

import type { Config } from '../gateway/config.ts';
import type { EntryType } from '../log/index.ts';

/** Types of the gateway, the built-in plugins and those of PLUGINS. */
export async function broughtTypes(config: Pick<Config, 'PLUGINS'>): Promise<readonly EntryType[]> {
  const { servedPlugins } = await import('../gateway/host/external-plugins.ts');
  const { orderPlugins } = await import('../gateway/host/host.ts');
  const { GATEWAY_TYPES } = await import('../gateway/routes/index.ts');
  const plugins = orderPlugins(await servedPlugins(config.PLUGINS));
  return [...GATEWAY_TYPES, ...plugins.flatMap(({ types }) => types)];
}
