// `actlog adopt`: lets a data folder go on that is a copy, was restored, or has lost its checkpoint register.

import { join } from 'node:path';
import type { Command } from 'commander';
import { passphraseOf } from '../../gateway/passphrase.ts';
import type { Config } from '../../gateway/config.ts';
import type { Inspected } from '../../gateway/tenants/level-care.ts';
import type { WitnessNetwork } from '../../gateway/witnesses/witness-network.ts';
import { isLogError, native, openCheckpoint, readKeyFile } from '../../log/index.ts';
import type { FileRegister, Register } from '../../log/index.ts';
import {
  adoptFolder,
  DraftRegister,
  findRegister,
  formatVkey,
  isMarked,
  isTied,
  knownRegisters,
  LOG_KEY,
  readRemembered,
  refusalOf,
  registerName,
  Signer,
} from '../../log/operate.ts';
import type { Adopted, AskWitnesses } from '../../log/operate.ts';
import { registerPlace } from '../../gateway/config.ts';
import { broughtTypes } from '../brought-types.ts';
import { acting, CommandError, EXIT, settingsOf, threads, withData } from '../command-line.ts';
import type { DataOptions } from '../command-line.ts';
import { dataLogs, keyNameOf, refuseNode, type DataLog } from '../data-logs.ts';

interface AdoptCommand extends DataOptions {
  readonly from?: string;
  readonly acceptRisk?: boolean;
}

/** A log of the data folder with what signs its checkpoints. */
type SignedLog = DataLog & { readonly origin: string; readonly vkey: string };

/** Declares the command. */
export function addAdopt(program: Command): void {
  withData(program.command('adopt'))
    .summary('accept a copied or restored data folder')
    .description(
      'A data folder that was copied, restored as a whole, or whose checkpoint register is missing does not start: ' +
        'another copy may have signed more since. This command compares every log with a mirror or with the ' +
        'witnesses of WITNESS_POLICY, catches it up from the mirror, and ties the register to this folder.',
    )
    .option('--from <mirror>', 'mirror of the logs: a service or an export folder')
    .option('--accept-risk', 'adopt logs that neither a mirror nor witnesses confirm')
    .addHelpText(
      'after',
      `
  actlog adopt --from https://mirror.example
  WITNESS_POLICY=policy.txt actlog adopt

First make sure that no other copy of the folder is in use, and that none will be: the copy that the register
belonged to is refused from then on. Without a mirror or witnesses nothing shows whether another copy signed more,
and --accept-risk says that none did. Nothing overrides a contradiction: a log that is behind the register, the
mirror or a witness is caught up from a mirror that has the entries, or succeeded ("actlog restore").`,
    )
    .action(acting(EXIT.failed, run));
}

async function run(options: AdoptCommand): Promise<number> {
  const { compareForAdoption } = await import('../../log/operate.ts');
  const { WitnessNetwork: Network } = await import('../../gateway/witnesses/witness-network.ts');
  const { openMirror } = await import('../mirror/open.ts');
  const { pino } = await import('pino');
  const { config } = await settingsOf(options);
  refuseNode(config);
  const place = registerPlace(config);
  const logs = await signedLogs(config);
  const refusal = await refusalOf(place);
  if (refusal !== null) console.log(refusal.split('. Make sure')[0]);
  const found =
    isMarked(place.data) || config.CHECKPOINT_DIR !== '' || config.DATABASE_URL !== ''
      ? null
      : await formerOf(logs);
  const register = new DraftRegister(found ?? (await findRegister(place)));
  const strict = { ...config, WITNESS_FAIL_OPEN: 'off' } as const;
  const network = Network.open(strict, Date.now, pino({ level: 'silent' }));
  const types = await broughtTypes(config);
  // The register of this very folder confirms the logs that it holds.
  const own = refusal === null && found === null && (await isTied(place));
  const risky: string[] = [];
  for (const log of logs) {
    const { origin, kind, number } = log;
    const mirror =
      options.from === undefined
        ? undefined
        : await openMirror(options.from, { origin, kind, number });
    try {
      const adopted = await compareForAdoption({
        ...log,
        register,
        types,
        threads: threads(),
        ...(mirror === undefined ? {} : { mirror }),
        ...(network?.covers(log) === true ? { witnesses: askOf(network, log) } : {}),
      });
      const entered = !own || register.changes.has(registerName(kind, number));
      if (adopted.compared.length === 0 && entered) risky.push(origin);
      console.log(inWords(adopted));
    } finally {
      await mirror?.close();
    }
  }
  if (risky.length > 0 && options.acceptRisk !== true) {
    throw new CommandError(
      `neither a mirror nor witnesses confirm ${risky.join(', ')}: another copy may have signed more. Give --from ` +
        'or WITNESS_POLICY, or --accept-risk when no other copy was ever used',
    );
  }
  const adopted = await adoptFolder(place, found, register.changes);
  await acceptDatabases(place.data, adopted);
  await adopted.close();
  console.log(
    `the checkpoint register ${adopted.place} belongs to ${place.data} now: start the service`,
  );
  return EXIT.ok;
}

/** Accepts what the databases of the gateway hold where the register knows of later writes. */
async function acceptDatabases(data: string, register: Register): Promise<void> {
  const store = await import('../../gateway/tenants/store.ts');
  const { acceptDisclosures, privatePlace } = await import('../../gateway/tenants/disclosures.ts');
  const { inspectLevel } = await import('../../gateway/tenants/level-care.ts');
  const [gateway, keys] = [join(data, 'gateway'), join(data, 'private')];
  if (await lacksWrites(() => store.inspectGatewayStore(gateway, register))) {
    await store.acceptGatewayStore(gateway, register);
    console.log(
      `accepted the older database in ${gateway}: API keys and subscriptions are those of the copy, so revoke ` +
        'again each key that was revoked since',
    );
  }
  if (await lacksWrites(() => inspectLevel(keys, privatePlace(register)))) {
    await acceptDisclosures(keys, register);
    console.log(`accepted the database in ${keys}: disclosures whose keys it lacks are lost`);
  }
}

async function lacksWrites(inspect: () => Promise<Inspected | null>): Promise<boolean> {
  try {
    const found = await inspect();
    await found?.close();
    return found !== null && found.problems.length > 0;
  } catch (error) {
    // It is gone, and the register knows of it.
    if (isLogError(error) && error.code === 'log_rolled_back') return true;
    throw error;
  }
}

function inWords({ origin, size, restored, compared }: Adopted): string {
  const came = restored === 0 ? '' : `, ${String(restored)} of them from the mirror`;
  const by =
    compared.length === 0 ? 'compared with nothing' : `agrees with ${compared.join(' and ')}`;
  return `${origin} has ${String(size)} entries${came}: ${by}`;
}

async function signedLogs(config: Config): Promise<SignedLog[]> {
  const { originIn } = await import('../../log/operate.ts');
  const signed: SignedLog[] = [];
  for (const log of await dataLogs(config)) {
    const { kind, number, folder, register } = log;
    const origin =
      (await originIn(folder)) ??
      (await readRemembered(register, registerName(kind, number)))?.origin;
    if (origin === undefined) {
      throw new CommandError(`${folder} has no entries, and the register does not know the log`);
    }
    const key = new Signer(await readKeyFile(keyNameOf(config, log), passphraseOf(config)));
    signed.push({ ...log, origin, vkey: formatVkey(native, origin, LOG_KEY, key.publicKey) });
  }
  return signed;
}

/** The register in the state folder that holds a checkpoint of one of these logs; null when none does. */
async function formerOf(logs: readonly SignedLog[]): Promise<FileRegister | null> {
  for (const register of await knownRegisters()) {
    for (const { kind, number, origin, vkey } of logs) {
      const held = await readRemembered(register, registerName(kind, number)).catch(() => null);
      if (held?.origin !== origin || held.note === null) continue;
      try {
        openCheckpoint(native, held.note, { origin, vkey });
        return register;
      } catch {
        // The same origin under another key: another log.
      }
    }
  }
  return null;
}

/** Witnesses that know another tree or more entries; one that cannot be reached is no contradiction. */
const CONTRADICTION = /has cosigned|another root|consistency proof|409/;

function askOf(network: WitnessNetwork, { kind, number }: SignedLog): AskWitnesses {
  const cosign = network.cosign(kind, number);
  return async (offer) => {
    const cosigned = await cosign(offer);
    const problems = network.problems(kind, number);
    const against = problems.filter((problem) => CONTRADICTION.test(problem));
    if (against.length > 0) return `a witness knows more or another tree: ${against.join('; ')}`;
    if (cosigned !== null && cosigned.cosignatures > 0) return null;
    return `its witnesses do not confirm it: ${problems.join('; ') || 'the policy asks for none'}`;
  };
}
