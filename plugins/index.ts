// The built-in plugins.

import absence from './absence/index.ts';
import anchors from './anchors/index.ts';
import astl from './astl/index.ts';
import carrier from './carrier/index.ts';
import classify from './classify/index.ts';
import clear from './clear/index.ts';
import compliance from './compliance/index.ts';
import clearing from './clearing/index.ts';
import type { Plugin } from './contract/index.ts';
import demo from './demo/index.ts';
import exported from './exports/index.ts';
import foundry from './foundry/index.ts';
import nap from './nap/index.ts';
import issuerPays from './issuer-pays/index.ts';
import gate from './gate/index.ts';
import otlp from './otlp/index.ts';
import orn from './orn/index.ts';
import pdtr from './pdtr/index.ts';
import relay from './relay/index.ts';
import requireReceipt from './require-receipt/index.ts';
import restraint from './restraint/index.ts';
import signal from './signal/index.ts';
import silence from './silence/index.ts';
import stack from './stack/index.ts';

export { catalogUrl, readCatalog } from './contract/index.ts';

/** Every plugin that the gateway loads by itself. */
export const PLUGINS: readonly Plugin[] = [
  classify,
  silence,
  astl,
  absence,
  pdtr,
  restraint,
  gate,
  carrier,
  compliance,
  requireReceipt,
  clear,
  nap,
  clearing,
  orn,
  foundry,
  relay,
  signal,
  issuerPays,
  stack,
  exported,
  anchors,
  otlp,
  demo,
];
