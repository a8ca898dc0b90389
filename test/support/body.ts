// The type of bodies in tests.

export type { Body } from '../../tools/plugin-test/running.ts';
