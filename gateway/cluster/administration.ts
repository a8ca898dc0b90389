// What the command line asks a node: its state, to give lost rounds back to the database, to give the leadership away, and
// to open a successor of a log.

import type { ClusterDatabase, Kind, Succession } from '../../log/index.ts';
import type { JsonObject } from '../../plugins/contract/index.ts';
import type { AdminVerbs } from '../tenants/admin.ts';
import { AdminError } from '../tenants/tenants.ts';
import type { Copies } from './copies.ts';
import { giveBack, giveUp } from './lost-rounds.ts';

/** A node, as the commands see it. */
export interface AdministeredNode {
  readonly database: ClusterDatabase;
  readonly copies: Copies;
  leads(): boolean;
  /** The address of another node that leads; null if none is known. */
  leader(): string | null;
  /** What `cluster status` says of the node itself. */
  state(): JsonObject & { readonly address: string };
  /** Gives key files back that the database has lost. */
  giveKeysBack(): Promise<void>;
  /** Called when the database has the lost rounds again. */
  healed(): void;
  stepDown(): Promise<void>;
  succeed(kind: Kind, number: number): Promise<Succession>;
}

/** The verbs of `actlog cluster`, and `cluster succeed` of `actlog restore --successor`. */
export function clusterVerbs(node: AdministeredNode): AdminVerbs {
  const mustLead = (): void => {
    if (node.leads()) return;
    const leader = node.leader();
    throw new AdminError(`this node does not lead${leader === null ? '' : `; ${leader} does`}`);
  };
  return {
    'cluster status': async () => {
      const { database, copies } = node;
      const state = node.state();
      return {
        ...state,
        leader: node.leads() ? state.address : node.leader(),
        applied: copies.applied(),
        lost: await database.lost().catch(() => []),
        database: await database.sizes().catch(() => null),
      };
    },
    'cluster heal': async ({ accept_loss }) => {
      const { database, copies } = node;
      const healed = await giveBack(database, copies, () => node.giveKeysBack());
      const { address } = node.state();
      const given_up = accept_loss === true ? await giveUp(database, address) : [];
      node.healed();
      return { healed, given_up, lost: await database.lost() };
    },
    'cluster step-down': async () => {
      mustLead();
      await node.stepDown();
      return { stepped_down: true };
    },
    'cluster succeed': async ({ log, number }) => {
      mustLead();
      if ((log !== 'live' && log !== 'sandbox') || typeof number !== 'number') {
        throw new AdminError('a succession names a log and its number');
      }
      return node.succeed(log, number);
    },
  };
}
