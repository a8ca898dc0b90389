// The plugin contract, version 2: everything that a plugin may import, as `actlog/plugin` (plugins/GUIDE.md).
//
// Read plugin.ts first (what a plugin declares and what the host gives it), then route.ts (how a route is declared and
// answered) and errors.ts. schemas.ts, entries.ts, log-view.ts, lists.ts, catalog.ts and decimal.ts hold what several
// plugins need alike; carry.ts is the hook that moves a plugin's state into a successor log.

export * from './plugin.ts';
export * from './route.ts';
export * from './errors.ts';
export * from './schemas.ts';
export * from './entries.ts';
export * from './log-view.ts';
export * from './lists.ts';
export * from './catalog.ts';
export * from './carry.ts';
export * from './decimal.ts';
export { isLogError, LOG_KINDS, type Json, type JsonObject } from '../../log/index.ts';
export type {
  ChainKey,
  Disclosure,
  Draft,
  EntryType,
  Kind,
  Link,
  RowReader,
  RowWriter,
  SequencePoint,
  Sequenced,
  SurfaceReader,
  Watch,
} from '../../log/index.ts';
