// A whole gateway for tests, as the published plugin suite starts one.

export * from '../../tools/plugin-test/running.ts';
