// `npm run readme`: writes the tables that the documents take from the code. tools/OPERATING.md has the settings and the metrics;
// gateway/API.md has the error codes, the bodies, the paths and the catalogs. Each table is between two marks.

import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';
import { configTable } from '../gateway/config.ts';
import { metricTable } from '../gateway/metric-table.ts';
import { pluginSettingRows } from '../gateway/host/plugin-settings.ts';
import { rolesOf } from '../gateway/http/roles.ts';
import { PROBLEMS, typeOf } from '../gateway/http/problems.ts';
import { isJsonObject } from '../log/index.ts';
import type { Json, JsonObject } from '../log/index.ts';
import { readCatalog } from '../plugins/contract/index.ts';
import type { Route } from '../plugins/contract/index.ts';
import { PLUGINS } from '../plugins/index.ts';
import { interfaceOf, LEFT_OUT } from './interface.ts';

/** The documents with generated tables, by path: as they should be. */
export async function generatedDocuments(): Promise<Readonly<Record<string, string>>> {
  const { routes, document } = await interfaceOf();
  const shown = routes.filter(({ tag }) => !LEFT_OUT.includes(tag));
  return {
    'tools/OPERATING.md': await filled('tools/OPERATING.md', {
      settings: configTable(pluginSettingRows(PLUGINS)),
      metrics: metricTable(),
    }),
    'gateway/API.md': await filled('gateway/API.md', {
      errors: errorTable(),
      bodies: bodyList(shown, document),
      paths: pathTables(shown),
      catalogs: catalogTables(),
    }),
  };
}

const urlOf = (path: string): URL => new URL(`../${path}`, import.meta.url);

/** The document with each table between its marks, such as `<!-- paths -->` and `<!-- /paths -->`. */
async function filled(path: string, tables: Readonly<Record<string, string>>): Promise<string> {
  let text = readFileSync(urlOf(path), 'utf8');
  for (const [name, table] of Object.entries(tables)) {
    const [before, rest] = split(path, text, `<!-- ${name} -->`);
    const [, after] = split(path, rest, `<!-- /${name} -->`);
    text = `${before}<!-- ${name} -->\n\n${table}\n\n<!-- /${name} -->${after}`;
  }
  return format(text, { parser: 'markdown', printWidth: 100, singleQuote: true });
}

function split(path: string, text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`${path} lacks the mark ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const code = (text: string): string => `\`${text}\``;

/** All codes by their status: those of the gateway, and those that plugins declare. */
function errorTable(): string {
  const own = Object.entries(PROBLEMS).map(([name, problem]) => ({ ...problem, name, plugin: '' }));
  const declared = PLUGINS.flatMap(({ name: plugin, errors = {} }) =>
    Object.values(errors).map((error) => ({ ...error, name: error.code, plugin })),
  );
  const rows = [...own, ...declared]
    .sort((a, b) => a.status - b.status)
    .map(({ status, name, sentence, plugin }) => [
      String(status),
      typeOf(status),
      code(name),
      sentence,
      plugin === '' ? '' : code(plugin),
    ]);
  return table(['status', 'type', 'code', 'meaning', 'plugin'], rows);
}

/** Who may call a route; roles where they are not those that its access has unless said. */
function accessOf(route: Route): string {
  const { access } = route;
  const roles = rolesOf(route).join(', ');
  if (typeof access === 'object') return `key: ${roles}`;
  const shown = access === 'read' ? 'public' : access;
  return roles === rolesOf({ access }).join(', ') ? shown : `${shown}: ${roles}`;
}

/** A table of paths for each tag, in the order of the routes. */
function pathTables(routes: readonly Route[]): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  return tags
    .map((tag) => {
      const rows = routes
        .filter((route) => route.tag === tag)
        .map((route) => {
          const { method, path, aliases = [], summary } = route;
          const names = [path, ...aliases].map((name) => code(`${method} ${name}`));
          return [names.join(', '), queryOf(route), accessOf(route), summary];
        });
      const title = tag[0]?.toUpperCase() === tag[0] ? tag : `Plugin \`${tag}\``;
      return `### ${title}\n\n${table(['request', 'query', 'access', 'what it does'], rows)}`;
    })
    .join('\n\n');
}

function queryOf({ query }: Route): string {
  const schema = query as { properties?: object; required?: readonly string[] } | undefined;
  const members = Object.keys(schema?.properties ?? {});
  return members.length === 0 ? '' : code(members.map(optionalUnless(schema?.required)).join(', '));
}

const optionalUnless =
  (required: readonly string[] = []) =>
  (name: string): string =>
    required.includes(name) ? name : `${name}?`;

/** Body and answer of each route that answers JSON; a list, since a table would be as wide as its widest row. */
function bodyList(routes: readonly Route[], document: JsonObject): string {
  const paths = document['paths'] as Record<string, Record<string, JsonObject>>;
  const rows = routes.flatMap(({ method, path }) => {
    const operation = paths[path.replaceAll('*}', '}')]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`the OpenAPI document lacks ${method} ${path}`);
    const body = schemaOf(operation['requestBody'], document);
    const answer = schemaOf((operation['responses'] as JsonObject)['200'], document);
    if (answer === null) return [];
    return [
      `- ${code(`${method} ${path}`)}${body === null ? '' : ` ${code(body)}`} → ${code(answer)}`,
    ];
  });
  return rows.join('\n');
}

/** The members of a JSON body in braces; null where there is none. */
function schemaOf(holder: Json | undefined, document: JsonObject): string | null {
  const content = isJsonObject(holder) ? holder['content'] : undefined;
  const media = isJsonObject(content) ? content['application/json'] : undefined;
  return isJsonObject(media) ? membersOf(media['schema'] ?? null, document) : null;
}

function membersOf(schema: Json, document: JsonObject): string {
  if (!isJsonObject(schema)) return '…';
  const { $ref, anyOf, oneOf, properties, required } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    const components = document['components'] as Record<string, JsonObject>;
    return name.endsWith('Receipt')
      ? name
      : membersOf(components['schemas']?.[name] ?? null, document);
  }
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) {
    const texts = (choices as readonly Json[]).map((choice) => membersOf(choice, document));
    return [...new Set(texts)].join(' or ');
  }
  if (!isJsonObject(properties)) return '…';
  const names = Object.keys(properties).map(optionalUnless(required as readonly string[]));
  return `{${names.join(', ')}}`;
}

/** What callers most often look up in catalogs. */
function catalogTables(): string {
  const catalog = (path: string): JsonObject => readCatalog(path) as JsonObject;
  const records = (value: Json | undefined): readonly JsonObject[] =>
    (value ?? []) as readonly JsonObject[];
  const text = (value: Json | undefined): string => {
    if (Array.isArray(value)) return value.join(', ');
    if (value === null) return 'none';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  const rowsOf = (list: Json | undefined, names: readonly string[]): string =>
    table(
      names,
      records(list).map((one) => names.map((name) => text(one[name]))),
    );
  const foundry = catalog('foundry.json');
  const { tolls_usd, metering } = catalog('tolls.json') as Readonly<Record<string, JsonObject>>;
  const presets = Object.entries(catalog('absence.json')['presets'] as JsonObject);
  const templates = (foundry['triggers'] as JsonObject)['templates'];
  const { sources } = foundry['oracle'] as JsonObject;
  const categories = (foundry['conformity'] as JsonObject)['categories'];
  return [
    '### Tolls\n\nUSD for each governed act. A toll without an act is not metered.',
    table(
      ['key', 'USD', 'metered by'],
      Object.entries(tolls_usd ?? {}).map(([key, usd]) => {
        const { acts, outcomes } = metering?.[key] as JsonObject;
        const by = (acts as readonly string[]).map(code).join(', ');
        return [code(key), text(usd), outcomes === undefined ? by : `${by}: ${text(outcomes)}`];
      }),
    ),
    '### Basis points on cleared exposure',
    rowsOf(catalog('clear.json')['bps_tiers'], ['id', 'bps', 'upper_bound_usd_per_month']),
    '### Clearing windows',
    rowsOf(catalog('clearing.json')['skus'], ['id', 'weeks', 'price_usd', 'gam_credits_usd']),
    '### Surface presets',
    table(
      ['preset', 'surfaces'],
      presets.map(([name, surfaces]) => [code(name), text(surfaces)]),
    ),
    '### Oracle sources',
    rowsOf(sources, ['source_id', 'latency_ms', 'weight']),
    '### Trigger templates',
    rowsOf(templates, [
      'template_id',
      'default_action',
      'callable_actions',
      'exposure_ceiling_usd',
      'fee_bps',
    ]),
    '### Conformity categories',
    rowsOf(categories, ['category_id', 'label']),
    '### Risk controls',
    'What evidences each control of a conformity pack: an entry of the session that shows one of these signals.',
    table(
      ['category', 'control', 'rule', 'signals'],
      records(categories).flatMap(({ category_id, risk_controls }) =>
        records(risk_controls).map(({ control, rule, signals }) => [
          text(category_id),
          text(control),
          text(rule),
          (signals as readonly string[]).map(code).join(', '),
        ]),
      ),
    ),
  ].join('\n\n');
}

if (process.argv[1]?.endsWith('readme.ts') === true) {
  for (const [path, text] of Object.entries(await generatedDocuments())) {
    writeFileSync(urlOf(path), text);
  }
}
