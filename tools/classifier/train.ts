// Trains the linear models of the classifier and writes catalogs/classify: `npm run train -- FOLDER` with the folder of the public sets (README.md here), or `--seal` after
// editing rules or lexica. The same data and seed give the same bytes.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { catalogUrl, readCatalog, readCatalogBytes } from '../../plugins/contract/index.ts';
import { TABLE_FILES, WEIGHTS, sha256 } from '../../plugins/classify/engine/tables.ts';
import type { Manifest } from '../../plugins/classify/engine/tables.ts';
import { ownRows } from './own-rows.ts';
import { withTwins } from './pronoun-twins.ts';
import { publicRows, publicSetsFault } from './public-rows.ts';
import {
  OPTIONS,
  THRESHOLDS,
  bareTables,
  engineWith,
  featuresOf,
  fit,
  vocabularyOf,
} from './fit.ts';

const OWN_SETS = fileURLToPath(new URL('data', import.meta.url));
/** A word must occur in this many training texts to be known. */
const LEAST_TEXTS = 2;

function main(argument: string | undefined): number {
  if (argument === undefined) {
    process.stderr.write('usage: train DATA_FOLDER | --seal\n');
    return 2;
  }
  if (argument !== '--seal') {
    const fault = publicSetsFault(argument);
    if (fault !== null) {
      process.stderr.write(`${fault}\n`);
      return 2;
    }
    train(argument);
  }
  seal();
  return 0;
}

function train(folder: string): void {
  const rows = withTwins([...publicRows(folder, OWN_SETS), ...ownRows(OWN_SETS)]);
  const words = vocabularyOf(rows, LEAST_TEXTS);
  const features = featuresOf(rows, bareTables(words), OPTIONS.bits);
  const learned = fit(rows, features, (row) => row.split === 'train', OPTIONS);
  const { table, weights } = engineWith(words, learned, THRESHOLDS);
  writeFileSync(catalogUrl('classify/vocabulary.txt'), `${words.join('\n')}\n`);
  writeFileSync(catalogUrl('classify/model.json'), `${JSON.stringify(table, null, 2)}\n`);
  writeFileSync(catalogUrl(`classify/${WEIGHTS}`), weights);
  process.stdout.write(`${String(rows.length)} rows, ${String(words.length)} words\n`);
}

/** Writes the SHA-256 of every table into the manifest; a change of rules shows in the version. */
function seal(): void {
  const old = readCatalog('classify/manifest.json') as unknown as Manifest;
  const files: Record<string, string> = {};
  for (const file of [...TABLE_FILES, WEIGHTS])
    files[file] = sha256(readCatalogBytes(`classify/${file}`));
  const tables = TABLE_FILES.map((file) => `${files[file] ?? ''} ${file}\n`).join('');
  const [base = '1.0.0'] = old.version.split('-tables.');
  const version = `${base}-tables.${sha256(new TextEncoder().encode(tables)).slice(0, 12)}`;
  const manifest: Manifest = { id: old.id, version, files };
  writeFileSync(catalogUrl('classify/manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  process.stdout.write(`${version} weights ${files[WEIGHTS] ?? ''}\n`);
}

process.exitCode = main(process.argv[2]);
