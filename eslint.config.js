// Lint: typescript-eslint's strict type-checked rules, and the floors of the house. Imports go down
// only: tools, test -> gateway -> plugins -> log; catalogs is data. CONTRIBUTING.md has the plan.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** The verifiers of plugins, and what is theirs alone. */
const verifiersOfPlugins = [
  'plugins/verifiers.ts',
  'plugins/{carrier,clearing,compliance,exports}/verify.ts',
  'plugins/exports/air/{mapping,view}.ts',
];

/** `actlog/require-receipt`, which runs in services of others: it needs the checks of the log and no plugin host. */
const guardOfServices = [
  'plugins/require-receipt/{action,adapters,agent,answers,challenge,guard,header,manifest}.ts',
  'plugins/require-receipt/{middleware,options,permit,replay,trusted-keys}.ts',
];

/** What the verifiers import; test/project/house.test.ts checks that the list is complete. */
const browserSafe = [
  'log/verify.ts',
  'log/verify/**/*.ts',
  'log/errors.ts',
  'log/types.ts',
  'log/encoding/**/*.ts',
  'log/crypto/{portable,acceptance,thumbprint,suite,ml-dsa}.ts',
  'log/merkle/{hash,check,tile}.ts',
  'log/map/{key,grammar,head,check}.ts',
  'log/note/**/*.ts',
  'log/cose/**/*.ts',
];
const noServerGlobals = [
  'error',
  ...['Buffer', 'process', 'global', 'require', '__dirname', '__filename', 'setImmediate'],
];

const up = '^(\\.\\./)+';
const from = (regex, message) => ({ regex, message });
const noNode = from('^node:', 'log/verify.ts runs in browsers: no node:* below it.');
const noKoa = from('^(koa|@koa)\\b', 'The log knows no HTTP.');
const logKnowsNothing = from(
  `${up}(plugins|gateway|tools|test)/`,
  'Imports go down only; log is the ground floor.',
);
const pluginsStandOnLog = from(
  `${up}(gateway|tools|test)/`,
  'Imports go down only; a plugin stands on log.',
);
const contractAlone = from(
  `${up}log/`,
  'A plugin imports from plugins/contract/index.ts, as it would from actlog/plugin; verify.ts from log/verify.ts.',
);
const gatewayStandsOnPlugins = from(
  `${up}(tools|test)/`,
  'Imports go down only; the gateway stands on plugins and log.',
);
const doorsOfLog = from(
  `${up}log/(?!(index|verify)\\.ts$)`,
  'log has two doors: log/index.ts and log/verify.ts.',
);
const doorsForTools = from(
  `${up}log/(?!(index|operate|verify)\\.ts$)`,
  'Tools reach log through log/index.ts, log/operate.ts and log/verify.ts.',
);
const doorsForPages = from(
  `${up}log/(?!(verify|cose/portable)\\.ts$)`,
  'What runs outside the gateway imports log/verify.ts and log/cose/portable.ts.',
);
const doorsOfPlugins = from(
  `${up}plugins/(?!(contract/)?index\\.ts$)`,
  'The gateway knows plugins/contract/index.ts and plugins/index.ts.',
);

const pageScripts = from(
  '^(node:|\\.\\./(?!\\.\\./contract/page\\.ts$))',
  'A script of a page imports plugins/contract/page.ts, as it would from actlog/plugin-page.',
);

const sourceFolders = ['log', 'plugins', 'gateway', 'tools'];

/**
 * Names of the exported error classes. `instanceof` does not recognise an error that another copy of the package threw,
 * such as the copy that a plugin has installed; the brand of the class does. A class that a file keeps to itself has
 * only one copy.
 */
function errorClasses() {
  const parents = new Map();
  for (const folder of sourceFolders.map((name) => join(import.meta.dirname, name))) {
    for (const file of readdirSync(folder, { recursive: true })) {
      if (!file.endsWith('.ts')) continue;
      const text = readFileSync(join(folder, file), 'utf8');
      for (const [, name, parent] of text.matchAll(/^export class (\w+) extends (\w+)/gm)) {
        parents.set(name, parent);
      }
    }
  }
  const isError = (name) => name === 'Error' || (parents.has(name) && isError(parents.get(name)));
  return [...parents.keys()].filter(isError);
}

const noDecorators = { selector: 'Decorator', message: 'No decorators.' };
const byBrand = {
  selector: `BinaryExpression[operator='instanceof'][right.name=/^(${errorClasses().join('|')})$/]`,
  message: 'Recognise an error by its brand: isLogError, isApiError and so on.',
};

const pluginsFolder = join(import.meta.dirname, 'plugins');

/** Names of the plugins that a plugin requires, as its index.ts declares them. */
function requiredBy(plugin) {
  const declared = readFileSync(join(pluginsFolder, plugin, 'index.ts'), 'utf8');
  const names = /^ {2}requires: \[([^\]]*)\]/m.exec(declared)?.[1] ?? '';
  return [...names.matchAll(/'([^']+)'/g)].map(([, name]) => name);
}
const plugins = readdirSync(pluginsFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'contract')
  .map(({ name }) => name);

/** What the files of a plugin that lie `depth` folders below it may import from beside it. */
const neighbours = (plugin, depth) =>
  from(
    `^(\\.\\./){${depth + 1}}(?!\\.\\./)(?!(${['contract', ...requiredBy(plugin)].join('|')})/index\\.ts$)`,
    'A plugin imports contract/index.ts and the index.ts of the plugins that it requires.',
  );

const floor = (files, ...patterns) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns }] },
});

export default defineConfig(
  globalIgnores(['dist', 'coverage', 'data', 'tools/clients/typescript/paths.ts']),
  js.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },

  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'] }],
      'object-shorthand': 'error',
      'prefer-const': 'error',
      // erasableSyntaxOnly refuses the rest of what is not plain JavaScript.
      'no-restricted-syntax': ['error', noDecorators],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/restrict-plus-operands': [
        'error',
        {
          allowNumberAndString: true,
          allowAny: false,
          allowBoolean: false,
          allowNullish: false,
          allowRegExp: false,
        },
      ],
      // `json['surfaces']` says that the name is data, not a member that the type promises.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // An async handler without await still turns a throw into a rejection; that is what it is for.
      '@typescript-eslint/require-await': 'off',
      // Both read well; the shapes of log/types.ts use both.
      '@typescript-eslint/consistent-type-definitions': 'off',
    },
  },

  // Bytes are indexed in loops whose bounds are checked once: `bytes[i]!` says so.
  { files: ['log/**/*.ts'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },

  {
    files: sourceFolders.map((folder) => `${folder}/**/*.ts`),
    rules: { 'no-restricted-syntax': ['error', noDecorators, byBrand] },
  },

  floor(['log/**/*.ts'], logKnowsNothing, noKoa),
  {
    files: browserSafe,
    rules: {
      'no-restricted-imports': ['error', { patterns: [logKnowsNothing, noKoa, noNode] }],
      'no-restricted-globals': noServerGlobals,
    },
  },
  floor(['plugins/*.ts'], pluginsStandOnLog, doorsOfLog),
  floor(['plugins/contract/*.ts'], pluginsStandOnLog, doorsOfLog),
  ...plugins.flatMap((plugin) =>
    [0, 1, 2].map((depth) =>
      floor(
        [`plugins/${plugin}/${'*/'.repeat(depth)}*.ts`],
        pluginsStandOnLog,
        contractAlone,
        neighbours(plugin, depth),
      ),
    ),
  ),
  {
    files: ['plugins/contract/page.ts', 'plugins/*/pages/*.ts'],
    rules: {
      'no-restricted-imports': ['error', { patterns: [pluginsStandOnLog, doorsForPages, noNode] }],
      'no-restricted-globals': noServerGlobals,
    },
  },
  floor(['plugins/*/pages/*.ts'], pluginsStandOnLog, pageScripts),
  floor(guardOfServices, pluginsStandOnLog, doorsForPages, from('/index\\.ts$', 'No plugin host.')),
  {
    files: verifiersOfPlugins,
    rules: {
      'no-restricted-imports': ['error', { patterns: [pluginsStandOnLog, doorsForPages, noNode] }],
      'no-restricted-globals': noServerGlobals,
    },
  },
  floor(['gateway/**/*.ts'], gatewayStandsOnPlugins, doorsOfLog, doorsOfPlugins),
  floor(['gateway/pages/scripts/**/*.ts'], gatewayStandsOnPlugins, doorsForPages, noNode),

  floor(['tools/**/*.ts'], doorsForTools),
  { files: ['tools/**/*.ts'], rules: { 'no-console': 'off' } },

  {
    files: ['test/**/*.ts'],
    rules: {
      'no-console': 'off',
      // describe and it return what nobody awaits; vectors are JSON of any shape; a test may assert
      // by `!` what the line above has checked.
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [{ from: 'package', name: ['describe', 'it'], package: 'mocha' }],
        },
      ],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
