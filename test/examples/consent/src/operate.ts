// The command `actlog consent count --kind live`, and a review once a day.

import { command, job } from 'actlog/plugin';
import type { Command, Job, PluginHost } from 'actlog/plugin';
import { Type } from 'typebox';

/** Counts the grants that were not withdrawn. */
export const countCommand = (host: PluginHost): Command =>
  command({
    name: 'consent count',
    summary: 'Count the grants in force',
    args: Type.Object({
      kind: Type.Union([Type.Literal('live'), Type.Literal('sandbox')], {
        description: 'which log',
      }),
      at_least: Type.Optional(
        Type.Integer({ minimum: 0, description: 'whether there are this many' }),
      ),
    }),
    example: { kind: 'sandbox' },
    async perform({ args: { kind, at_least } }) {
      const in_force = Number(host.log(kind).row('in-force') ?? 0);
      return at_least === undefined ? { in_force } : { in_force, enough: in_force >= at_least };
    },
  });

/** Records when it ran; `status` reports a late review. */
export const reviewJob = (host: PluginHost, review: { at_ms: number }): Job =>
  job({
    name: 'consent review',
    summary: 'Review the consents',
    args: Type.Object({}),
    example: {},
    every_ms: 86_400_000,
    async perform() {
      review.at_ms = host.now();
      return { reviewed_at_ms: review.at_ms };
    },
  });
