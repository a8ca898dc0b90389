// The hook for LangChain (`@langchain/core` 1): a callback handler. LangChain swallows the errors of handlers unless
// `raiseError` is set; here it is, so that a refusal stops the tool. tools/AGENTS.md, LangChain for TypeScript.

import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { Recorder } from './recorder.ts';
import type { Begun, HookOptions } from './recorder.ts';

export { Refused } from './recorder.ts';
export type { HookOptions, Recorded } from './recorder.ts';

/** What LangChain tells of a tool or a model. */
interface Named {
  readonly id?: readonly string[];
}

/** The handler: asks the gate before a tool runs, and anchors what goes to a model and what comes back. */
export class ActlogHandler extends BaseCallbackHandler {
  override name = 'actlog';
  readonly recorder: Recorder;
  readonly #tools = new Map<string, Begun>();
  readonly #models = new Map<string, { readonly name: string; readonly id: string }>();

  constructor(options: HookOptions = {}) {
    super({ raiseError: true });
    this.awaitHandlers = true;
    this.recorder = new Recorder(options);
  }

  /** The handler itself: its open calls are shared with the copies that LangChain makes for child runs. */
  override copy(): this {
    return this;
  }

  /** @throws Refused if the tool must not run */
  override async handleToolStart(
    tool: Named,
    input: string,
    runId: string,
    _parent?: string,
    _tags?: string[],
    _metadata?: Record<string, unknown>,
    runName?: string,
  ): Promise<void> {
    const name = runName ?? tool.id?.at(-1) ?? 'unnamed';
    this.#tools.set(runId, await this.recorder.begin(name, input));
  }

  override handleToolEnd(output: unknown, runId: string): Promise<void> {
    return this.#toolEnded(runId, 'completed', output);
  }

  override handleToolError(error: unknown, runId: string): Promise<void> {
    return this.#toolEnded(runId, 'failed', String(error));
  }

  override handleChatModelStart(model: Named, messages: unknown, runId: string): Promise<void> {
    return this.#modelStarted(model, messages, runId);
  }

  override handleLLMStart(model: Named, prompts: string[], runId: string): Promise<void> {
    return this.#modelStarted(model, prompts, runId);
  }

  override handleLLMEnd(output: unknown, runId: string): Promise<void> {
    return this.#modelEnded(runId, 'completed', output);
  }

  override handleLLMError(error: unknown, runId: string): Promise<void> {
    return this.#modelEnded(runId, 'failed', String(error));
  }

  async #toolEnded(runId: string, status: 'completed' | 'failed', result: unknown): Promise<void> {
    const begun = this.#tools.get(runId);
    this.#tools.delete(runId);
    if (begun !== undefined) await this.recorder.end(begun, status, result);
  }

  async #modelStarted(model: Named, content: unknown, runId: string): Promise<void> {
    const name = model.id?.at(-1) ?? 'unnamed';
    this.#models.set(runId, { name, id: await this.recorder.request(name, content) });
  }

  async #modelEnded(
    runId: string,
    status: 'completed' | 'failed',
    content: unknown,
  ): Promise<void> {
    const call = this.#models.get(runId);
    this.#models.delete(runId);
    if (call !== undefined) await this.recorder.response(call.name, call.id, status, content);
  }
}
