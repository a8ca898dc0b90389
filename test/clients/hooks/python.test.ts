// The hooks for Python, with the real frameworks, a model whose answers the test sets, and a service: runs the examples of
// tools/AGENTS.md and checks the entries of each. Runs if ACTLOG_HOOKS_PYTHON names a Python that has the frameworks;
// `npm run test:python-hooks` installs one.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { guideExample } from '../../support/guide-examples.ts';
import { AgentLog, completion, model, MODEL, PERMITTED } from './agent-log.ts';

const PYTHON = process.env['ACTLOG_HOOKS_PYTHON'] ?? '';
const DENIED = ['gate.decision.v3'];
const HELD = ['gate.decision.v3'];

describe('the hooks for Python', function () {
  this.timeout(120_000);
  let log: AgentLog;
  let folder = '';
  before(async function () {
    if (PYTHON === '') {
      console.log('      skipped: ACTLOG_HOOKS_PYTHON names no Python: npm run test:python-hooks');
      this.skip();
    }
    log = await AgentLog.start();
    folder = await mkdtemp(join(tmpdir(), 'actlog-python-hooks-'));
  });
  after(async () => {
    if (folder === '') return;
    await log.close();
    await rm(folder, { recursive: true });
  });

  /** Runs a program with examples of the guide; answers with the types of the entries of each of its cases. */
  async function casesOf(
    program: string,
    examples: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Readonly<Record<string, readonly string[]>>> {
    const files = examples.map((name) => join(folder, `${name}.py`));
    for (const [at, name] of examples.entries()) {
      await writeFile(files[at] ?? '', guideExample(name));
    }
    const script = fileURLToPath(new URL(program, import.meta.url));
    const { url, live, gateway } = log.running;
    const child = spawn(PYTHON, [script, ...files], {
      env: { ...process.env, ...env, ACTLOG_URL: url, ACTLOG_KEY: live },
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const ended = new Promise((resolve) => child.once('close', resolve));
    const cases: Record<string, readonly string[]> = {};
    let from = gateway.logs.live.size();
    for await (const line of createInterface(child.stdout)) {
      if (!line.startsWith('{"case"')) continue; // LiteLLM prints advice
      const name = (JSON.parse(line) as { case: string }).case;
      cases[name] = log.since(from).map(({ type }) => type as string);
      from = gateway.logs.live.size();
    }
    assert.equal(await ended, 0, errors);
    return cases;
  }

  it('ask the gate before a tool of LangChain runs, and record the model', async () => {
    const cases = await casesOf('hooks_langchain.py', ['langchain-python']);
    assert.deepEqual(cases, {
      example: [...MODEL, ...PERMITTED],
      denied: DENIED,
      async: [...PERMITTED, ...DENIED],
      failed: PERMITTED,
      held: [...HELD, 'gate.hold_resolution.v2', ...PERMITTED],
      unreachable: ['gate.unasked.v1'],
      'lost answer': PERMITTED,
    });
  });

  it('record the calls of LiteLLM, in a program and in its proxy', async () => {
    const chunk = {
      ...completion(''),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content: 'zebra' }, finish_reason: null }],
    };
    const last = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    const upstream = await model(({ stream, model: name }) => {
      if (name === 'failing') return { error: 'no model' };
      return stream === true ? [chunk, last] : completion('zebra');
    });
    try {
      const cases = await casesOf('hooks_litellm.py', ['litellm', 'litellm-proxy'], {
        ...{ OPENAI_BASE_URL: upstream.url, OPENAI_API_BASE: upstream.url, OPENAI_API_KEY: 'k' },
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      });
      assert.deepEqual(cases, {
        example: MODEL,
        streams: [...MODEL, ...MODEL],
        async: [...MODEL, ...MODEL],
        failed: MODEL,
        proxy: MODEL,
        unreachable: [],
      });
    } finally {
      await upstream.close();
    }
  });
});
