// Rules of the project that no linter checks: names, sizes and first comments of files, the folders, the imports of
// the offline verifier, and whether everything that package.json and the documents name exists.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ESLint, Linter } from 'eslint';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Manifest {
  name: string;
  license: string;
  bin: Record<string, string>;
  exports: Record<string, string | { types: string; default: string }>;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
}
const manifest = JSON.parse(read('package.json')) as Manifest;

/** Names without meaning. */
const vague =
  /^(?:utils?|helpers?|misc|common|manager|service)$|-(?:utils?|helpers?|manager|service)$/;

/**
 * `import type … from` has no effect at run time; with verbatimModuleSyntax of the compiler, all other imports have.
 */
const typeOnly = /^(?:import|export) type [^;'=]*from '[^']*';/gm;

/** The specifiers that a file imports at run time, including dynamic imports. */
const runtimeImports = (path: string): string[] =>
  ts
    .preProcessFile(read(path).replace(typeOnly, ''), true, true)
    .importedFiles.map((file) => file.fileName);

/** Every file that a file reaches by runtime imports, with itself, and every bare specifier among them. */
function reach(start: string): { files: Set<string>; bare: Set<string> } {
  const files = new Set([start]);
  const bare = new Set<string>();
  for (const file of files) {
    for (const specifier of runtimeImports(file)) {
      if (specifier.startsWith('.')) files.add(posix.join(posix.dirname(file), specifier));
      else bare.add(specifier);
    }
  }
  return { files, bare };
}

describe('the project (skipped outside a git clone)', () => {
  let files: string[] = [];
  let sources: string[] = [];

  before(function () {
    if (!existsSync(join(root, '.git'))) this.skip();
    const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
    files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
    sources = files.filter((file) => file.endsWith('.ts'));
    assert.ok(sources.length > 0);
  });

  it('has exactly the planned folders', () => {
    const folders = new Set(files.filter((f) => f.includes('/')).map((f) => f.split('/')[0]));
    const plan = ['.ci', 'catalogs', 'gateway', 'log', 'plugins', 'test', 'tools'];
    assert.deepEqual([...folders].sort(), plan);
  });

  it('contains no path of a machine', () => {
    const paths = /(?<![\w.)\]}-])\/(?:work(?![\w-])|home\/|root\/|Users\/)|\b[A-Z]:\\Users\\/;
    assert.deepEqual(linesWith(files, paths), []);
  });

  it('contains no marks of unfinished work', () => {
    const marks = new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|')})\\b`);
    assert.deepEqual(linesWith(sources, marks), []);
  });

  it('describes each file in a first comment', () => {
    const headless = sources.filter((file) => {
      const [first = '', second = ''] = read(file).split('\n', 2);
      return !/^(?:\/\/|\/\*\*?)/.test(first.startsWith('#!') ? second : first);
    });
    assert.deepEqual(headless, []);
  });

  it('imports the clients of PostgreSQL, S3 and OpenTelemetry dynamically', () => {
    const eager = /^import (?!type\b).* from '(?:pg|@aws-sdk\/|@opentelemetry\/)/;
    const shipped = sources.filter((file) => /^(?:log|gateway|plugins|tools)\//.test(file));
    assert.deepEqual(linesWith(shipped, eager), []);
  });

  it('has no file of more than 600 lines', () => {
    const lines = (file: string): number => read(file).trimEnd().split('\n').length;
    const long = sources.filter((file) => lines(file) > 600);
    assert.deepEqual(
      long.map((file) => `${file}: ${lines(file)}`),
      [],
    );
  });

  it('has file names in kebab-case that name a concept', () => {
    const misnamed = sources.filter((file) => {
      const name = basename(file).replace(/(?:\.test)?(?:\.d)?\.ts$/, '');
      return !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || vague.test(name);
    });
    assert.deepEqual(misnamed, []);
  });

  it('imports at run time only packages in its dependencies', () => {
    const missing = [];
    for (const file of sources.filter((f) => /^(?:log|plugins|gateway)\//.test(f))) {
      for (const specifier of runtimeImports(file)) {
        if (specifier.startsWith('.') || specifier.startsWith('node:')) continue;
        const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '';
        if (!(name in manifest.dependencies)) missing.push(`${file}: ${specifier}`);
      }
    }
    assert.deepEqual(missing, []);
  });

  it('names no plugin in the gateway', () => {
    const plugins = new Set(files.flatMap((file) => /^plugins\/([^/]+)\//.exec(file)?.[1] ?? []));
    plugins.delete('contract');
    // The core has entry types that begin with astl.
    const types = [...plugins].filter((name) => name !== 'astl').join('|');
    const routes = [...plugins].join('|');
    const named = new RegExp(
      [
        `from '[./]*plugins/(?!(?:(?:contract/)?index|contract/page|verifiers)\\.ts')`,
        `['"\`](?:${types})\\.[a-z_]+\\.v[1-9]`,
        `['"\`]/api/v1/(?:${routes})\\b`,
      ].join('|'),
    );
    const gateway = sources.filter((file) => file.startsWith('gateway/'));
    assert.deepEqual(linesWith(gateway, named), []);
    const imported = gateway.flatMap((file) => {
      return [...read(file).matchAll(/\{([^}]*)\} from '[./]*plugins\/index\.ts'/g)].flatMap(
        ([, names = '']) => names.split(',').map((name) => name.trim()),
      );
    });
    assert.deepEqual([...new Set(imported)].sort(), ['PLUGINS', 'catalogUrl', 'readCatalog']);
  });

  it('imports no Node.js module in the verifiers, which run in browsers', async () => {
    const { files: reached, bare } = reach('plugins/verifiers.ts');
    assert.deepEqual(
      [...bare].filter((specifier) => specifier.startsWith('node:')),
      [],
    );
    const eslint = new ESLint({ cwd: root });
    for (const file of reached) {
      if (file.endsWith('.json')) continue;
      const config = (await eslint.calculateConfigForFile(join(root, file))) as Linter.Config;
      const globals = config.rules?.['no-restricted-globals'];
      assert.ok(globals, `${file} is missing in the browserSafe list of eslint.config.js`);
    }
  });

  it('lets no source file recognise an exported error class by instanceof', async () => {
    const eslint = new ESLint({ cwd: root });
    const file = join(root, 'log/index.ts');
    const { rules } = (await eslint.calculateConfigForFile(file)) as Linter.Config;
    const code = ['LogError', 'ApiError', 'Unanswerable', 'MirrorMissing', 'TypeError', 'Map']
      .map((name) => `error instanceof ${name};`)
      .join('\n');
    const rule = { 'no-restricted-syntax': rules?.['no-restricted-syntax'] ?? 'off' } as const;
    const lines = new Linter().verify(code, { rules: rule }).map(({ line }) => line);
    assert.deepEqual(lines, [1, 2, 3, 4]);
  });

  it('has no import circle between files, types included', () => {
    const product = sources.filter((file) => /^(?:log|plugins|gateway|tools)\//.test(file));
    const imports = new Map(
      product.map((file) => [
        file,
        [...read(file).matchAll(/from\s+'(\.[^']+)'/g)]
          .map(([, specifier = '']) => posix.join(posix.dirname(file), specifier))
          .filter((target) => product.includes(target)),
      ]),
    );
    // Repeatedly removes files that import only removed files; the rest are on a circle or import one that is.
    for (let before = -1; before !== imports.size;) {
      before = imports.size;
      for (const [file, targets] of imports)
        if (targets.every((target) => !imports.has(target))) imports.delete(file);
    }
    assert.deepEqual([...imports.keys()], [], 'these are on a circle, or import one that is');
  });

  it('has documents whose links and commands exist', () => {
    const broken = [];
    for (const file of files.filter((f) => f.endsWith('.md'))) {
      const text = read(file);
      for (const [, target = ''] of text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)) {
        if (!existsSync(join(root, dirname(file), target))) broken.push(`${file}: ${target}`);
      }
      for (const [, script = ''] of text.matchAll(/\bnpm run ([a-z:-]+)/g)) {
        if (!(script in manifest.scripts)) broken.push(`${file}: npm run ${script}`);
      }
    }
    assert.deepEqual(broken, []);
  });

  it('contains the license that package.json names', () => {
    assert.equal(manifest.license, 'Apache-2.0');
    const license = read('LICENSE');
    assert.match(license, /Apache License\s+Version 2\.0, January 2004/);
    assert.match(license, /END OF TERMS AND CONDITIONS/);
    assert.ok(existsSync(join(root, 'NOTICE')));
  });

  /** The lines of the files that match, as `file:line`. */
  function linesWith(paths: readonly string[], pattern: RegExp): string[] {
    return paths.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1}`] : [])),
    );
  }
});

describe('the build (skipped until `npm run build` has made dist/)', () => {
  before(function () {
    if (!existsSync(join(root, 'dist'))) this.skip();
  });

  it('has a file and types for each export', () => {
    const doors = Object.entries(manifest.exports).map(([door, target]) => ({
      name: manifest.name + door.slice(1),
      ...(typeof target === 'string' ? { default: target, types: target } : target),
    }));
    // In a separate process, because the loader of the tests resolves to sources by the paths of tsconfig.json.
    const names = JSON.stringify(doors.map(({ name }) => name));
    const program = `console.log(JSON.stringify(${names}.map((name) => require.resolve(name))))`;
    const env = { PATH: process.env['PATH'] };
    const found = execFileSync(process.execPath, ['-e', program], { cwd: root, env });
    const files = doors.map((door) => join(root, door.default));
    assert.deepEqual(JSON.parse(found.toString()), files);
    for (const { types } of doors) assert.ok(existsSync(join(root, types)), types);
  });

  it('has executable commands', () => {
    for (const path of Object.values(manifest.bin)) {
      accessSync(join(root, path), constants.X_OK);
      assert.match(read(path), /^#!\/usr\/bin\/env node\n/);
    }
  });

  it('has a browser verifier that is one module without imports', () => {
    const bundle = ts.preProcessFile(read('dist/static/verify.js'), true, true);
    assert.deepEqual(bundle.importedFiles, []);
  });
});
