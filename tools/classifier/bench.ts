// `npm run bench:classify -- DATA_FOLDER`: measures the classifier on texts it was not trained on, prints a table and JSON, and
// exits 1 when a promise is missed. Sets that are not in the folder are skipped and named.
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import { loadEngine } from '../../plugins/classify/engine/index.ts';
import type { Engine } from '../../plugins/classify/engine/index.ts';
import type { Row } from './corpus.ts';
import {
  crossCheck,
  pronounFigures,
  scoreAlarm,
  scoreCrisis,
  scoreViolation,
} from './cross-check.ts';
import { longFigures, readmes } from './long-texts.ts';
import { figures, figuresByTag, rightByTag } from './measure.ts';
import type { Scored } from './measure.ts';
import { ownRows, unseenRows } from './own-rows.ts';
import { hasPublicSets, publicRows } from './public-rows.ts';
import { speedOf } from './speed.ts';
import type { Speed } from './speed.ts';

/** One promise: what was measured, the bound, whether it holds. */
interface Check {
  readonly set: string;
  readonly measure: string;
  readonly value: number;
  readonly bound: string;
  readonly holds: boolean;
}

const OWN_SETS = fileURLToPath(new URL('data', import.meta.url));
const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const DEFENCE = ['counter_quote_nh', 'counter_ref_nh', 'negate_neg_nh', 'negate_pos_h'];

const checks: Check[] = [];
const report: Record<string, unknown> = {};

function atLeast(set: string, measure: string, value: number, bound: number): void {
  checks.push({ set, measure, value, bound: `>= ${String(bound)}`, holds: value >= bound });
}

function atMost(set: string, measure: string, value: number, bound: number): void {
  checks.push({ set, measure, value, bound: `<= ${String(bound)}`, holds: value <= bound });
}

function checkPublicSets(folder: string, engine: Engine): void {
  const rows = [...publicRows(folder, OWN_SETS), ...ownRows(OWN_SETS)];
  const scored = crossCheck(rows, (line) => {
    process.stderr.write(`${line}\n`);
  });
  const hateCheck = scored.get('hatecheck') ?? [];
  const hate = figures(hateCheck);
  const functions = rightByTag(hateCheck);
  report['hatecheck'] = { ...hate, functionality: functions };
  atLeast('HateCheck, templates held out (5 folds)', 'AUC', hate.auc, 0.8);
  atLeast('HateCheck, templates held out (5 folds)', 'F1', hate.f1, 0.82);
  for (const name of DEFENCE) {
    const { texts, right } = functions[name] ?? { texts: 1, right: 0 };
    atLeast('HateCheck, templates held out (5 folds)', name, right / texts, 0.5);
  }
  const surge = figures(scored.get('surge') ?? []);
  report['surge'] = surge;
  atLeast('Surge toxicity, 5 folds', 'F1', surge.f1, 0.86);
  const contexts = rows.filter((row) => row.set === 'diasafety' && row.split === 'test');
  const distress = figures(contexts.map((row) => scoreCrisis(engine, row)));
  report['diasafety'] = distress;
  atLeast('DiaSafety distress, test split', 'recall', distress.recall, 0.85);
  atLeast('DiaSafety distress, test split', 'precision', distress.precision, 0.75);
}

function checkOwnSets(engine: Engine): void {
  const rows = ownRows(OWN_SETS).filter((row) => row.split === 'test');
  const score = (set: string, how: (engine: Engine, row: Row) => Scored): Scored[] =>
    rows.filter((row) => row.set === set).map((row) => how(engine, row));
  const hiring = figures(score('hiring', scoreViolation));
  const benign = figures(score('benign', scoreAlarm));
  report['hiring'] = hiring;
  report['benign'] = benign;
  atLeast('Hiring, own test split', 'F1', hiring.f1, 0.92);
  atMost(
    'Benign with alarming words, own test split',
    'false alarms',
    benign.false_alarms / benign.texts,
    0.02,
  );
  // Reported, not promised: small, and by the author of the rules.
  report['crisis'] = {
    ...figures(score('crisis', scoreCrisis)),
    language: rightByTag(score('crisis', scoreCrisis)),
  };
  report['domains'] = {
    ...figures(score('domains', scoreViolation)),
    domain: rightByTag(score('domains', scoreViolation)),
  };
  report['general'] = figures(score('general', scoreViolation));
  report['fresh'] = {
    ...figures(score('fresh', scoreAlarm)),
    topic: rightByTag(score('fresh', scoreAlarm)),
  };
  report['field'] = {
    ...figures(score('field', scoreAlarm)),
    topic: figuresByTag(score('field', scoreAlarm)),
  };
  report['varied'] = {
    ...figures(score('varied', scoreAlarm)),
    topic: figuresByTag(score('varied', scoreAlarm)),
  };
  // By writers nothing of whom was learnt from: what to expect of others.
  const unseen = unseenRows(OWN_SETS).map((row) => scoreAlarm(engine, row));
  report['unseen'] = { ...figures(unseen), set: figuresByTag(unseen) };
  const breaches = unseenRows(OWN_SETS)
    .filter((row) => row.domain === 'general' && scoreAlarm(engine, row).positive)
    .map((row) => row.text)
    .filter((text) => engine.classify(text, 'general').classification !== 'SAFE');
  const lawful = unseenRows(OWN_SETS).filter(({ targets }) => !targets.includes(1));
  report['pronouns'] = pronounFigures(engine, lawful);
  report['long'] = longFigures(engine, readmes(PACKAGES), breaches);
}

/** `runs` lie minutes apart: on a shared machine the quietest tells most of the engine. */
function checkSpeed(runs: readonly Speed[]): void {
  const [speed] = [...runs].sort((a, b) => a.median_us - b.median_us);
  if (speed === undefined) return;
  report['speed'] = speed;
  atMost('Speed, 200 characters', 'median, microseconds', speed.median_us, 40);
  atMost('Speed, 32 KiB against 16 KiB', 'ratio, worst of the hostile texts', speed.worst_ratio, 3);
  atMost('Memory of the models', 'MB', speed.model_mb, 8);
}

async function main(folder: string | undefined): Promise<number> {
  const engine = loadEngine();
  report['classifier'] = {
    id: engine.id,
    version: engine.version,
    weights_sha256: engine.weights_sha256,
  };
  checkOwnSets(engine);
  const texts = ownRows(OWN_SETS).map((row) => row.text);
  const speeds = [await speedOf(engine, texts)];
  if (folder !== undefined && hasPublicSets(folder)) {
    checkPublicSets(folder, engine);
    speeds.push(await speedOf(engine, texts));
  } else {
    const place = folder ?? 'a folder given as argument';
    process.stdout.write(`skipped: the public sets, no surge.jsonl.gz in ${place}\n`);
  }
  checkSpeed(speeds);
  const table = new Table({
    head: ['set', 'measure', 'value', 'bound', ''],
    style: { head: [], border: [] },
  });
  for (const { set, measure, value, bound, holds } of checks) {
    table.push([set, measure, value.toFixed(3), bound, holds ? 'holds' : 'MISSED']);
  }
  process.stdout.write(`${table.toString()}\n${JSON.stringify({ checks, report }, null, 1)}\n`);
  return checks.every(({ holds }) => holds) ? 0 : 1;
}

// A folder that the caller names comes after that of the script in package.json.
process.exitCode = await main(process.argv.slice(2).at(-1));
