// The part of pg-pool that world/postgres-client.ts uses.

declare module 'pg-pool' {
  import { EventEmitter } from 'node:events';

  export default class Pool extends EventEmitter {
    constructor(options: object, Client: new (options: never) => EventEmitter);
  }
}
