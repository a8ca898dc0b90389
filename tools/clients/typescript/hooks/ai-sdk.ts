// The hook for the AI SDK (`ai` 6 and 7): middleware for models, and tools that ask the gate. It needs no import of the
// package: middleware and tools are plain objects. tools/AGENTS.md, AI SDK.

import { digestOf } from './acts.ts';
import { Recorder, watched } from './recorder.ts';
import type { HookOptions } from './recorder.ts';

export { Refused } from './recorder.ts';
export type { HookOptions, Recorded } from './recorder.ts';

interface ModelCall {
  readonly params: unknown;
  readonly model: { readonly provider: string; readonly modelId: string };
}

/** What `guard` changes of a tool. */
interface AnyTool {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- every tool has other inputs
  readonly execute?: ((...given: any[]) => unknown) | undefined;
}

/**
 * The hook. Its `middleware` goes to `wrapLanguageModel`, and `guard` wraps the tools.
 *
 * @param version of the middleware's specification: `v3` for `ai` 6, `v4` for `ai` 7
 */
export function actlog<V extends 'v3' | 'v4' = 'v3'>(options: HookOptions = {}, version?: V) {
  const recorder = new Recorder(options);
  return {
    recorder,
    middleware: {
      specificationVersion: (version ?? 'v3') as V,
      /** Anchors the prompt before the call and the result after it. A retried call is several. */
      async wrapGenerate<T>(call: ModelCall & { doGenerate(): PromiseLike<T> }): Promise<T> {
        const name = call.model.modelId;
        const id = await recorder.request(name, call.params);
        try {
          const result = await call.doGenerate();
          const { content, finishReason, usage } = result as Readonly<Record<string, unknown>>;
          await recorder.response(name, id, 'completed', { content, finishReason, usage });
          return result;
        } catch (error) {
          await recorder.response(name, id, 'failed', String(error));
          throw error;
        }
      },
      /** The same for a stream: its parts pass unchanged, and the response is anchored at its end or abort. */
      async wrapStream<P, T extends { stream: ReadableStream<P> }>(
        call: ModelCall & { doStream(): PromiseLike<T> },
      ): Promise<T> {
        const name = call.model.modelId;
        const id = await recorder.request(name, call.params);
        const parts: (string | undefined)[] = [];
        try {
          const result = await call.doStream();
          const stream = watched<P>(
            result.stream,
            (part) => parts.push(digestOf(part)),
            (status) => recorder.response(name, id, status, parts),
          );
          return { ...result, stream };
        } catch (error) {
          await recorder.response(name, id, 'failed', String(error));
          throw error;
        }
      },
    },
    /**
     * The same tools, which ask the gate before they run. A refusal is thrown as `Refused`; the SDK shows it to the
     * model as an error of the tool. Tools without `execute`, such as those of the provider, are unchanged.
     */
    guard<T extends Readonly<Record<string, AnyTool>>>(tools: T): T {
      const guarded = Object.entries(tools).map(([name, tool]) => [name, guardedTool(name, tool)]);
      return Object.fromEntries(guarded) as T;
    },
  };

  function guardedTool(name: string, tool: AnyTool): AnyTool {
    const { execute } = tool;
    if (execute === undefined) return tool;
    if (!isGenerator(execute)) {
      return {
        ...tool,
        execute: (...given: unknown[]) =>
          recorder.call(name, given[0], () => execute.apply(tool, given)),
      };
    }
    return {
      ...tool,
      async *execute(...given: unknown[]) {
        const begun = await recorder.begin(name, given[0]);
        let last: unknown;
        try {
          for await (last of execute.apply(tool, given) as AsyncIterable<unknown>) yield last;
        } catch (error) {
          await recorder.end(begun, 'failed', String(error));
          throw error;
        }
        await recorder.end(begun, 'completed', last);
      },
    };
  }
}

const isGenerator = (execute: (...given: never[]) => unknown): boolean =>
  Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]';
