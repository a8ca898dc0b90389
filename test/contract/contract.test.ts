// Every built-in plugin, and one of a third party's kind, keeps the contract.

import { PLUGINS } from '../../plugins/index.ts';
import { notes } from '../gateway/notes.ts';
import { pluginContract } from './plugin-contract.ts';

for (const plugin of PLUGINS) pluginContract(plugin);
pluginContract(notes(), { params: { topic: 'contract' } });
