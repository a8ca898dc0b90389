// What the trigger rail tells its webhook subscribers: ARMED and FIRED, each by its own entry. gateway/API.md §11.

import type { EventRule } from '../../contract.ts';
import { SETTLEMENT, TRIGGER } from './entries.ts';

/** The events of triggers. */
export const triggerEvents: readonly EventRule[] = [
  { entry: TRIGGER, events: ['trigger.armed'], eventOf: () => 'trigger.armed' },
  { entry: SETTLEMENT, events: ['trigger.fired'], eventOf: () => 'trigger.fired' },
];
