// The examples of gateway/API.md and plugins/GUIDE.md that use the package compile as strict TypeScript too.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** The block of a document that begins with this import. */
async function shown(document: string, first: string): Promise<string> {
  const text = await readFile(`${root}${document}`, 'utf8');
  const begin = text.indexOf(`\`\`\`js\n${first}`);
  assert.ok(begin >= 0, `${document} shows ${first}`);
  return text.slice(begin + 6, text.indexOf('\n```', begin));
}

const SOURCES: Readonly<Record<string, string>> = {
  'express.ts': await shown('gateway/API.md', 'import express'),
  // The only annotation: an untyped parameter would be `any`.
  'plugin.ts': (await shown('plugins/GUIDE.md', 'import { asSchema, definePlugin'))
    .replace('const note = {', 'const note: EntryType = {')
    .replace('import {', 'import { type EntryType,'),
  'notes.test.ts': (await shown('plugins/GUIDE.md', 'import { pluginContract')).replace(
    './notes.js',
    './readme-plugin.ts',
  ),
};

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  resolveJsonModule: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  types: ['node'],
  paths: {
    'actlog/plugin': [`${root}plugins/contract/index.ts`],
    'actlog/plugin-test': [`${root}tools/plugin-test/index.ts`],
    'actlog/require-receipt': [`${root}plugins/require-receipt/middleware.ts`],
  },
};

describe('the examples of gateway/API.md and plugins/GUIDE.md', () => {
  it('compile as strict TypeScript', function () {
    this.timeout(180_000);
    // They are compiled as files next to package.json, where their imports resolve; nothing is written.
    const places = new Map(
      Object.entries(SOURCES).map(([name, text]) => [`${root}readme-${name}`, text]),
    );
    const host = ts.createCompilerHost(OPTIONS);
    const { fileExists, readFile: read, getSourceFile } = host;
    host.fileExists = (path) => places.has(path) || fileExists(path);
    host.readFile = (path) => places.get(path) ?? read(path);
    host.getSourceFile = (path, target, ...rest) => {
      const text = places.get(path);
      return text === undefined
        ? getSourceFile(path, target, ...rest)
        : ts.createSourceFile(path, text, target);
    };
    const program = ts.createProgram([...places.keys()], OPTIONS, host);
    const faults = [...places.keys()].flatMap((path) =>
      ts
        .getPreEmitDiagnostics(program, program.getSourceFile(path))
        .map(
          ({ messageText, start = 0 }) =>
            `${path}: ${ts.flattenDiagnosticMessageText(messageText, '\n')} at: ${String(
              places.get(path)?.slice(start, start + 60),
            )}`,
        ),
    );
    assert.deepEqual(faults, []);
  });
});
