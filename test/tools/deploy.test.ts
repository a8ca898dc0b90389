// Checks the deployment files of tools/deploy/ without a container: with the programs that read them, if they are
// installed (`.ci/run` installs them), and against the settings, metrics and files of this repository.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { SETTINGS } from '../../gateway/config.ts';
import { selfSigned } from '../support/certificate.ts';

const run = promisify(execFile);
const TOP = new URL('../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, TOP), 'utf8');
const deploy = (name: string): string => text(`tools/deploy/${name}`);
const GUIDE = text('tools/OPERATING.md');

/** `.ci/run` unpacks packages of Debian there. */
const UNPACKED = join(homedir(), '.cache/actlog/debian/usr');

/** The path of a program; null if it is missing. */
function program(name: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  const places = [...folders, join(UNPACKED, 'bin'), join(UNPACKED, 'sbin')];
  return places.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** A test that needs a program; skipped without it, except in CI. */
function byProgram(name: string, title: string, body: (path: string) => Promise<void>): void {
  const path = program(name);
  it(`${title}${path === null ? ` (skipped: no ${name})` : ''}`, async function () {
    this.timeout(30_000);
    if (path === null) {
      assert.ok(process.env['CI'] === undefined, `CI runs these tests with ${name}`);
      this.skip();
    }
    await body(path);
  });
}

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly image: string;
}

describe('tools/deploy', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-deploy-'));
  });
  after(() => rm(folder, { recursive: true }));

  describe('Dockerfile', () => {
    const dockerfile = deploy('Dockerfile');

    it('has no problem that dockerfile-utils knows', () => {
      assert.deepEqual(
        validate(dockerfile).map(({ message }) => message),
        [],
      );
    });

    it('builds an image that runs without root, with a health check and pinned major versions', () => {
      const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
      assert.match(last, /^USER nonroot$/m);
      assert.match(last, /^HEALTHCHECK /m);
      for (const [, image = ''] of dockerfile.matchAll(/^FROM (\S+)/gm)) {
        assert.match(image, /(node:\d|nodejs\d+-)/, `${image} names no version`);
        assert.doesNotMatch(image, /latest/);
      }
    });

    it('copies every file of the package', () => {
      const { files } = JSON.parse(text('package.json')) as { readonly files: readonly string[] };
      for (const file of files) assert.ok(dockerfile.includes(`/actlog/${file}`), file);
    });
  });

  describe('compose.yaml', () => {
    const composed = parse(deploy('compose.yaml'), { merge: true }) as {
      readonly services: Readonly<Record<string, Service>>;
    };
    const nodes = Object.entries(composed.services).filter(([name]) => name.startsWith('node-'));

    it('is valid by the schema of the Compose Specification', () => {
      const schema = JSON.parse(text('test/data/compose-spec.json')) as object;
      const ajv = new Ajv2020({ strict: false, allErrors: true });
      formats.default(ajv);
      const valid = ajv.compile(schema);
      assert.ok(valid(composed), JSON.stringify(valid.errors, null, 1));
    });

    it('has three nodes of one cluster, and no setting that the service does not know', () => {
      assert.equal(nodes.length, 3);
      const settings = nodes.map(([, { environment = {} }]) => environment);
      const same = (name: string): void => {
        assert.equal(new Set(settings.map((one) => one[name])).size, 1, name);
      };
      for (const name of ['DATABASE_URL', 'CLUSTER', 'KEY_PASSPHRASE_FILE', 'BASE_URL']) same(name);
      for (const [name, { environment = {} }] of nodes) {
        assert.equal(environment['ADVERTISE'], `http://${name}:8080`);
        const unknown = Object.keys(environment).filter(
          // ADVERTISE and CLUSTER are settings of the cluster.
          (setting) => !(setting in SETTINGS) && !['ADVERTISE', 'CLUSTER'].includes(setting),
        );
        assert.deepEqual(unknown, []);
      }
    });

    it('runs nodes and witness without privileges on a read-only root', () => {
      for (const [name, service] of Object.entries(composed.services)) {
        assert.ok(!service.image.endsWith(':latest'), name);
        if (service.image !== 'actlog') continue;
        assert.equal(service.read_only, true, name);
        assert.deepEqual(service.cap_drop, ['ALL'], name);
      }
    });

    it('mounts only files that exist here or that its first comment tells the reader to create', () => {
      const made = ['passphrase', 'metrics-key', 'policy'];
      const here = readdirSync(new URL('tools/deploy', TOP));
      for (const [, file = ''] of deploy('compose.yaml').matchAll(
        /[ [']\.\/([\w-][\w.-]*)[:\n]/g,
      )) {
        assert.ok(here.includes(file) || made.includes(file), file);
        if (!here.includes(file)) assert.ok(`${deploy('compose.yaml')}${GUIDE}`.includes(file));
      }
    });
  });

  describe('actlog.service', () => {
    byProgram(
      'systemd-analyze',
      'is accepted by systemd-analyze verify, and is hardened',
      async (path) => {
        const unit = join(folder, 'actlog.service');
        // The program does not have to be installed for this check.
        const node = process.execPath;
        await writeFile(unit, deploy('actlog.service').replace('/usr/bin/node', node));
        const { stdout, stderr } = await run(path, ['verify', '--man=no', unit], {
          env: { ...process.env, SYSTEMD_LOG_LEVEL: 'warning' },
        });
        const told = `${stdout}${stderr}`
          .split('\n')
          .filter((line) => line.includes('actlog.service'));
        assert.deepEqual(told, []);
        await run(path, ['security', '--offline=true', '--threshold=20', unit]);
      },
    );

    it('starts node with the options of npm start', () => {
      const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
      const options = /node (.*) dist/.exec(scripts['start'] ?? '')?.[1] ?? '-';
      assert.ok(deploy('actlog.service').includes(`node ${options} `));
      for (const option of options.split(' ')) assert.ok(deploy('Dockerfile').includes(option));
    });
  });

  describe('proxies', () => {
    byProgram('nginx', 'nginx -t accepts nginx.conf', async (path) => {
      const { key, cert } = selfSigned('127.0.0.1');
      await writeFile(join(folder, 'key.pem'), key);
      await writeFile(join(folder, 'cert.pem'), cert);
      await mkdir(join(folder, 'cache'));
      const conf = join(folder, 'nginx.conf');
      const written = deploy('nginx.conf')
        .replace(/\S+fullchain\.pem/, join(folder, 'cert.pem'))
        .replace(/\S+privkey\.pem/, join(folder, 'key.pem'))
        .replace('/var/cache/nginx', join(folder, 'cache'))
        .replace(
          'http {',
          ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].reduce(
            (block, kind) => `${block}\n  ${kind}_temp_path ${join(folder, kind)};`,
            'http {',
          ),
        );
      await writeFile(conf, written);
      const pid = `pid ${join(folder, 'pid')};`;
      const { stderr } = await run(path, [
        '-t',
        '-e',
        'stderr',
        '-p',
        folder,
        '-c',
        conf,
        '-g',
        pid,
      ]);
      assert.match(stderr, /test is successful/);
      assert.doesNotMatch(stderr, /\[warn\]|\[error\]/);
    });

    byProgram('caddy', 'caddy validate accepts the Caddyfile', async (path) => {
      const file = new URL('tools/deploy/Caddyfile', TOP).pathname;
      const env = {
        ...process.env,
        HOME: folder,
        PUBLIC_HOST: 'log.example',
        UPSTREAMS: 'a:8080 b:8080',
      };
      const { stdout } = await run(path, ['validate', '--adapter', 'caddyfile', '--config', file], {
        env,
      });
      assert.match(stdout, /Valid configuration/);
    });

    it('hide the metrics from the public, and nothing else', () => {
      assert.match(deploy('nginx.conf'), /location = \/metrics \{\s*return 404;/);
      assert.match(deploy('Caddyfile'), /@inner path \/metrics\n\trespond @inner 404/);
    });
  });

  describe('Prometheus', () => {
    byProgram('promtool', 'accepts the rules and the configuration', async (path) => {
      const rules = new URL('tools/deploy/alerts.yml', TOP).pathname;
      await run(path, ['check', 'rules', rules]);
      const config = deploy('prometheus.yml').replace('alerts.yml', rules);
      await writeFile(join(folder, 'metrics-key'), 'key');
      const file = join(folder, 'prometheus.yml');
      await writeFile(file, config.replace(/\S+metrics-key/g, join(folder, 'metrics-key')));
      await run(path, ['check', 'config', file]);
    });

    it('has a guide that quotes log lines of the service exactly', () => {
      const section = /^## Failures\n([^]*?)^## /m.exec(GUIDE)?.[1] ?? '';
      const rows = section.split('\n').filter((line) => line.startsWith('| '));
      const lines = rows.flatMap((row) => [...(row.split(' | ')[1] ?? '').matchAll(/`([^`]+)`/g)]);
      assert.ok(lines.length > 5);
      const gateway = readdirSync(new URL('gateway', TOP), { recursive: true, encoding: 'utf8' });
      const sources = gateway
        .filter((path) => path.endsWith('.ts'))
        .map((path) => text(`gateway/${path}`));
      for (const [, line = ''] of lines) {
        const fixed = line.replace(/[ …]+$/, '');
        assert.ok(
          sources.some((source) => source.includes(fixed)),
          fixed,
        );
      }
    });

    it('uses only metrics that the service has, and the guide has a row for each alert', () => {
      const { groups } = parse(deploy('alerts.yml')) as {
        groups: readonly { rules: readonly { alert: string; expr: string }[] }[];
      };
      const rules = groups.flatMap((group) => group.rules);
      assert.ok(rules.length > 10);
      for (const { alert, expr } of rules) {
        assert.ok(GUIDE.includes(`\`${alert}\``), `${alert} is not in the guide`);
        for (const [name] of expr.matchAll(/\bactlog_\w+/g)) {
          const metric = name.replace(/_(count|bucket|sum)$/, '');
          assert.ok(GUIDE.includes(`\`${metric}\``), `${metric} of ${alert}`);
        }
      }
    });
  });
});
