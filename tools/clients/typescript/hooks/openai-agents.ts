// The hook for the OpenAI Agents SDK (`@openai/agents` 0.20): guardrails of tools. They are plain objects, so the SDK is
// not imported. tools/AGENTS.md, OpenAI Agents.

import { Recorder, Refused } from './recorder.ts';
import type { Begun, HookOptions } from './recorder.ts';

export { Refused } from './recorder.ts';
export type { HookOptions, Recorded } from './recorder.ts';

interface ToolCall {
  readonly toolCall: {
    readonly callId: string;
    readonly name: string;
    readonly arguments: string;
  };
}

type Behavior = { type: 'allow' } | { type: 'rejectContent'; message: string };

const ALLOW = { behavior: { type: 'allow' } as Behavior };

/**
 * The hook. `input` asks the gate before the tool runs, after a human's approval if the tool needs one; a refusal is
 * the content that the model gets. `output` logs the result: without it the log shows a permit whose outcome is unknown.
 */
export function actlog(options: HookOptions = {}) {
  const recorder = new Recorder(options);
  const begun = new Map<string, Begun>();
  return {
    recorder,
    input: {
      ...{ type: 'tool_input' as const, name: 'actlog' },
      async run({ toolCall }: ToolCall) {
        const { callId, name } = toolCall;
        try {
          begun.set(callId, await recorder.begin(name, argumentsOf(toolCall)));
          return ALLOW;
        } catch (error) {
          if (!Refused.is(error)) throw error;
          const { message, outcome, permalink, holdId } = error;
          const behavior: Behavior = { type: 'rejectContent', message };
          return { behavior, outputInfo: { outcome, permalink, holdId } };
        }
      },
    },
    output: {
      ...{ type: 'tool_output' as const, name: 'actlog' },
      async run({ toolCall, output }: ToolCall & { readonly output: unknown }) {
        const call = begun.get(toolCall.callId);
        begun.delete(toolCall.callId);
        if (call !== undefined) await recorder.end(call, 'completed', output);
        return ALLOW;
      },
    },
  };
}

/** The arguments as the model wrote them: JSON, or the text of them where it is none. */
function argumentsOf(call: ToolCall['toolCall']): unknown {
  try {
    return JSON.parse(call.arguments) as unknown;
  } catch {
    return call.arguments;
  }
}
