// node:events for pg-pool, which is linked and requires it under its old name.

export { EventEmitter } from 'node:events';
