// How an operation is called from a shell, from TypeScript and from Python, as text: made from what the OpenAPI document
// says of the operation, so that the examples of all operations exist and can be run. gateway/API.md §13.

import { isJsonObject, objectOf, objectsOf } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';

/** An operation as the texts need it, with its references resolved. */
interface Shown {
  readonly method: string;
  /** The path with its parameters in braces. */
  readonly path: string;
  /** Address of the service, without a slash at its end. */
  readonly base: string;
  readonly given: readonly Argument[];
  /** Content type and example of the body; null if the operation has no body. */
  readonly body: { readonly type: string; readonly example: Json | undefined } | null;
  /** First content type of the successful answer; null if there is none, as for a redirect. */
  readonly answer: string | null;
  /** Whether browsers get a page instead of that answer. */
  readonly forBrowsers: boolean;
  /** False for an operation that a key adds nothing to. */
  readonly keyed: boolean;
}

/** The three texts. None of them ends in a line break. */
export interface Snippets {
  readonly curl: string;
  readonly typescript: string;
  readonly python: string;
  /**
   * Parameters without a value of their own, in the order of the path and the query. The texts in TypeScript and Python
   * use a variable of this name, curl an environment variable of the name in capitals.
   */
  readonly variables: readonly string[];
}

/** A required parameter: its value, or undefined if the reader has to choose one. */
interface Argument {
  readonly name: string;
  /** What the reader's value of it is called in TypeScript and Python. */
  readonly variable: string;
  readonly place: string;
  readonly value: string | undefined;
}

/** Names of parameters that Python or TypeScript reserve. */
const RESERVED: readonly string[] = ['as', 'class', 'from', 'global', 'import', 'in', 'is', 'with'];

/** The longest line that a value is written on. */
const WIDTH = 80;

/**
 * The examples of an operation. The key is the environment variable ACTLOG_KEY in all three.
 *
 * @param document the OpenAPI document
 * @param method of the operation, in lower case as in the document
 * @throws Error if the document has no such operation
 */
export function snippetsOf(document: JsonObject, method: string, path: string): Snippets {
  const shown = shownOf(document, method, path);
  const inJson = shown.body === null || shown.body.type === 'application/json';
  const byClient = inJson && shown.answer === 'application/json';
  return {
    curl: curl(shown),
    typescript: byClient ? clientInTypeScript(shown) : fetchInTypeScript(shown),
    python: byClient ? clientInPython(shown) : httpxInPython(shown),
    variables: shown.given.flatMap(({ variable, value }) =>
      value === undefined ? [variable] : [],
    ),
  };
}

function shownOf(document: JsonObject, method: string, path: string): Shown {
  const operation = objectOf(objectOf(objectOf(document['paths'])[path])[method]);
  const { parameters, requestBody, responses, security } = operation;
  if (responses === undefined) throw new Error(`there is no operation ${method} ${path}`);
  const resolve = (value: Json | undefined): JsonObject => resolved(document, objectOf(value));
  const [type, media] = firstContent(resolve(requestBody));
  const [, success] = Object.entries(objectOf(responses)).find(([status]) => status < '300') ?? [];
  const [answer = null] = firstContent(resolve(success));
  const types = Object.keys(objectOf(resolve(success)['content']));
  const [{ url } = { url: '' }] = objectsOf(document['servers']);
  const schemes = objectsOf(security).map((one) => Object.keys(one).length);
  return {
    method: method.toUpperCase(),
    path,
    base: url as string,
    given: objectsOf(parameters).flatMap((one) => {
      const parameter = resolve(one);
      return argumentOf({ ...parameter, schema: resolve(parameter['schema']) });
    }),
    body: type === undefined ? null : { type, example: media?.['example'] },
    answer,
    forBrowsers: answer === 'application/json' && types.some((one) => one.startsWith('text/html')),
    keyed: schemes.includes(1) && (!schemes.includes(0) || method !== 'get'),
  };
}

/** The target of a reference in the document. A value that is not a reference is returned unchanged. */
function resolved(document: JsonObject, value: JsonObject): JsonObject {
  const { $ref } = value;
  if (typeof $ref !== 'string') return value;
  const target = $ref
    .split('/')
    .slice(1)
    .reduce((within, name) => objectOf(within[name]), document);
  return resolved(document, target);
}

function firstContent(holder: JsonObject): readonly [string, JsonObject] | readonly [] {
  const [entry] = Object.entries(objectOf(holder['content']));
  return entry === undefined ? [] : [entry[0], objectOf(entry[1])];
}

function argumentOf(parameter: JsonObject): readonly Argument[] {
  const { name, in: place, required, schema, example } = parameter;
  if (required !== true || place === 'header') return [];
  const value = example ?? valueOf(schema ?? null);
  return [
    {
      name: name as string,
      variable: RESERVED.includes(name as string) ? `${name as string}_` : (name as string),
      place: place as string,
      value: typeof value === 'string' || typeof value === 'number' ? String(value) : undefined,
    },
  ];
}

/** The first value that a schema names. */
function valueOf(schema: Json): Json | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { examples, default: usual, const: only, enum: choices, anyOf } = schema;
  const first = (list: Json | undefined): Json | undefined =>
    Array.isArray(list) ? (list as readonly Json[])[0] : undefined;
  const nested = first(anyOf);
  return (
    first(examples) ??
    usual ??
    only ??
    first(choices) ??
    (nested === undefined ? undefined : valueOf(nested))
  );
}

/** The path with each parameter replaced; the parameter itself stays if `replace` knows nothing for it. */
function pathWith({ path, given }: Shown, replace: (argument: Argument) => string): string {
  return path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const argument = given.find((one) => one.name === name && one.place === 'path');
    return argument === undefined ? whole : replace(argument);
  });
}

const inQuery = ({ given }: Shown): readonly Argument[] =>
  given.filter(({ place }) => place === 'query');

// curl

function curl(shown: Shown): string {
  const { method, body, base, keyed, forBrowsers } = shown;
  const path = pathWith(shown, ({ variable, value }) => value ?? `$${variable.toUpperCase()}`);
  const query = inQuery(shown);
  const flags = query.length > 0 ? '-sG' : '-s';
  const implied = method === 'GET' || (method === 'POST' && body !== null);
  const lines = [`curl ${flags} ${implied ? '' : `-X ${method} `}${quoted(`${base}${path}`)}`];
  for (const { name, variable, value } of query) {
    const text = value ?? `$${variable.toUpperCase()}`;
    lines.push(`--data-urlencode ${quoted(`${name}=${text}`)}`);
  }
  if (forBrowsers) lines.push("-H 'Accept: application/json'");
  if (keyed) lines.push('-H "X-API-Key: $ACTLOG_KEY"');
  if (body !== null) {
    lines.push(`-H 'Content-Type: ${body.type}'`);
    const inline =
      typeof body.example === 'string' ? body.example : JSON.stringify(body.example ?? {});
    lines.push(
      isFile(body)
        ? `--data-binary @${fileOf(body.type)}`
        : `${body.type === 'application/json' ? '-d' : '--data-binary'} '${inline.trimEnd().replaceAll("'", "'\\''")}'`,
    );
  }
  return lines.join(' \\\n  ');
}

/** In double quotes if the shell has to expand a variable in it. Neither addresses nor values have quotes. */
const quoted = (text: string): string => (text.includes('$') ? `"${text}"` : `'${text}'`);

/** Whether the reader has the body in a file: it is neither JSON nor a text that the document shows. */
const isFile = (body: Shown['body']): boolean =>
  body !== null && body.type !== 'application/json' && typeof body.example !== 'string';

/** Name of the file with a body that is not JSON. */
const fileOf = (type: string): string => `request.${type.split(/[/+]/).at(-1) ?? 'bin'}`;

// TypeScript

function clientInTypeScript(shown: Shown): string {
  const { method, path, body, base, keyed } = shown;
  const members = [
    member('path', shown, 'path'),
    member('query', shown, 'query'),
    ...(body === null ? [] : [`body: ${literal(body.example ?? {}, TYPESCRIPT, 1)}`]),
  ].filter((one) => one !== '');
  const input = members.length === 0 ? '{}' : `{\n${members.map((one) => `  ${one},\n`).join('')}}`;
  const options = keyed ? `, { key: process.env.ACTLOG_KEY }` : '';
  return [
    `import { Client } from 'actlog/client';`,
    '',
    `const client = new Client('${base}'${options});`,
    `const answer = await client.request('${method}', '${path}', ${input});`,
    'console.log(answer);',
  ].join('\n');
}

/** `path: { entry_id }`: the arguments of a place as a member of the client's input. */
function member(name: string, { given }: Shown, place: string): string {
  const own = given.filter((one) => one.place === place);
  if (own.length === 0) return '';
  const written = own.map(({ name: key, variable, value }) => {
    if (value !== undefined) return `${key}: ${literal(value, TYPESCRIPT, 1)}`;
    return key === variable ? key : `${key}: ${variable}`;
  });
  return `${name}: { ${written.join(', ')} }`;
}

function fetchInTypeScript(shown: Shown): string {
  const { method, body, answer, base, keyed } = shown;
  const path = pathWith(shown, ({ variable, value }) => value ?? `\${${variable}}`);
  const query = inQuery(shown);
  const url = `${base}${path}`;
  const address = url.includes('${') ? `\`${url}\`` : `'${url}'`;
  const headers = [
    ...(keyed ? [`'X-API-Key': process.env.ACTLOG_KEY ?? ''`] : []),
    ...(body === null ? [] : [`'Content-Type': '${body.type}'`]),
  ];
  const init = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(body === null
      ? []
      : [
          body.type === 'application/json'
            ? `body: JSON.stringify(${literal(body.example ?? {}, TYPESCRIPT, 1)})`
            : isFile(body)
              ? `body: await readFile('${fileOf(body.type)}')`
              : `body: ${literal(body.example ?? '', TYPESCRIPT, 1)}`,
        ]),
    ...(answer === null ? [`redirect: 'manual'`] : []),
  ];
  const written = init.length === 0 ? '' : `, {\n${init.map((one) => `  ${one},\n`).join('')}}`;
  return [
    ...(isFile(body) ? [`import { readFile } from 'node:fs/promises';`, ''] : []),
    ...(query.length === 0
      ? [`const response = await fetch(${address}${written});`]
      : [
          `const url = new URL(${address});`,
          ...query.map(
            ({ name, variable, value }) =>
              `url.searchParams.set('${name}', ${value === undefined ? variable : literal(value, TYPESCRIPT, 0)});`,
          ),
          `const response = await fetch(url${written});`,
        ]),
    `console.log(response.status, await response.${isText(answer) ? 'text' : 'arrayBuffer'}());`,
  ].join('\n');
}

/** Answers that are shown as text; all others are bytes. */
const isText = (type: string | null): boolean => type === null || /^text\/|json|xml/.test(type);

// Python

function clientInPython(shown: Shown): string {
  const { method, body, base, keyed } = shown;
  const path = pathWith(shown, ({ variable, value }) => value ?? `{${variable}}`);
  const query = inQuery(shown);
  const input = [
    `"${method}"`,
    `${path.includes('{') ? 'f' : ''}"${path}"`,
    ...(query.length === 0 ? [] : [`params=${parameters(query)}`]),
    ...(body === null ? [] : [`body=${literal(body.example ?? {}, PYTHON, 2)}`]),
  ];
  const options = keyed ? ', api_key=os.environ["ACTLOG_KEY"]' : '';
  return [
    ...(keyed ? ['import os', ''] : []),
    'from actlog.client import Client',
    '',
    `with Client("${base}"${options}) as client:`,
    `    answer = client.request(${spread(input, 1)})`,
    '    print(answer)',
  ].join('\n');
}

function httpxInPython(shown: Shown): string {
  const { method, body, answer, base, keyed } = shown;
  const path = pathWith(shown, ({ variable, value }) => value ?? `{${variable}}`);
  const query = inQuery(shown);
  const url = `${base}${path}`;
  const headers = [
    ...(keyed ? ['"X-API-Key": os.environ["ACTLOG_KEY"]'] : []),
    ...(body === null ? [] : [`"Content-Type": "${body.type}"`]),
  ];
  const input = [
    `${url.includes('{') ? 'f' : ''}"${url}"`,
    ...(query.length === 0 ? [] : [`params=${parameters(query)}`]),
    ...(headers.length === 0 ? [] : [`headers={${headers.join(', ')}}`]),
    ...(body === null
      ? []
      : [
          body.type === 'application/json'
            ? `json=${literal(body.example ?? {}, PYTHON, 1)}`
            : isFile(body)
              ? `content=Path("${fileOf(body.type)}").read_bytes()`
              : `content=${literal(body.example ?? '', PYTHON, 1)}`,
        ]),
  ];
  const imports = [
    ...(keyed ? ['import os'] : []),
    ...(isFile(body) ? ['from pathlib import Path'] : []),
  ];
  return [
    ...imports,
    ...(imports.length === 0 ? [] : ['']),
    'import httpx',
    '',
    `response = httpx.${method.toLowerCase()}(${spread(input, 0)})`,
    `print(response.status_code, response.${isText(answer) ? 'text' : 'content'})`,
  ].join('\n');
}

const parameters = (query: readonly Argument[]): string =>
  `{${query
    .map(
      ({ name, variable, value }) => `"${name}": ${value === undefined ? variable : `"${value}"`}`,
    )
    .join(', ')}}`;

/** Arguments of a call: on one line if they fit, else each on a line of its own. */
function spread(input: readonly string[], depth: number): string {
  const line = input.join(', ');
  if (line.length <= WIDTH - 30 && !line.includes('\n')) return line;
  const indent = '    '.repeat(depth);
  return `\n${input.map((one) => `${indent}    ${one},\n`).join('')}${indent}`;
}

// Values

interface Language {
  readonly indent: string;
  readonly words: Readonly<Record<'true' | 'false' | 'null', string>>;
  /** Keys of objects that need no quotes. */
  readonly plainKey: RegExp;
  /** Whether texts are in single quotes if nothing in them has to be escaped. */
  readonly singleQuotes: boolean;
  /** Whether objects on one line have spaces inside their braces. */
  readonly spaced: boolean;
}

const TYPESCRIPT: Language = {
  indent: '  ',
  words: { true: 'true', false: 'false', null: 'null' },
  plainKey: /^[A-Za-z_]\w*$/,
  singleQuotes: true,
  spaced: true,
};

const PYTHON: Language = {
  indent: '    ',
  words: { true: 'True', false: 'False', null: 'None' },
  plainKey: /^(?!)/,
  singleQuotes: false,
  spaced: false,
};

/**
 * A value as a literal. Escapes of JSON strings mean the same in both languages.
 *
 * @param depth how far the line that holds the value is indented
 */
function literal(value: Json, language: Language, depth: number): string {
  if (value === null || typeof value === 'boolean') {
    return language.words[String(value) as 'true' | 'false' | 'null'];
  }
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') {
    const plain = JSON.stringify(value);
    return language.singleQuotes && !/['\\]/.test(plain) ? `'${value}'` : plain;
  }
  const isList = Array.isArray(value);
  const items = isList
    ? (value as readonly Json[]).map((item) => literal(item, language, depth + 1))
    : Object.entries(value as JsonObject).map(([key, item]) => {
        const name = language.plainKey.test(key) ? key : literal(key, language, 0);
        return `${name}: ${literal(item, language, depth + 1)}`;
      });
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const space = language.spaced && !isList && items.length > 0 ? ' ' : '';
  const line = `${open}${space}${items.join(', ')}${space}${close}`;
  const indent = language.indent.repeat(depth);
  if (indent.length + line.length <= WIDTH - 10 && !line.includes('\n')) return line;
  const lines = items.map((item) => `${indent}${language.indent}${item},\n`);
  return `${open}\n${lines.join('')}${indent}${close}`;
}
