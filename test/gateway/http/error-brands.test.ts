// Errors thrown by another copy of the package, as in a plugin with its own dependencies, are recognised.

import assert from 'node:assert/strict';
import { apiError, Problems } from '../../../gateway/http/problems.ts';
import { isLogError, LogError } from '../../../log/index.ts';
import { isUnanswerable, Unanswerable } from '../../../log/verify.ts';
import { ApiError, isApiError } from '../../../plugins/contract/index.ts';

interface ApiErrors {
  readonly ApiError: typeof ApiError;
}
interface LogErrors {
  readonly LogError: typeof LogError;
}
interface FindingErrors {
  readonly Unanswerable: typeof Unanswerable;
}

/** A second instance of a module, as a second installed copy would have. */
const copyOf = async (path: string): Promise<unknown> =>
  import(`${new URL(path, import.meta.url).href}?copy`);

describe('errors of another copy of the package', () => {
  it('are recognised by their brand, and answered like those of this copy', async () => {
    const { ApiError: OtherApiError } = (await copyOf(
      '../../../plugins/contract/errors.ts',
    )) as ApiErrors;
    const thrown = new OtherApiError('parameter_invalid', 'the topic is too long');
    assert.equal(thrown instanceof ApiError, false, 'the class is a different one');
    assert.ok(isApiError(thrown));
    assert.equal(apiError(thrown, new Problems()), thrown);
  });

  it('of the log are recognised too', async () => {
    const { LogError: OtherLogError } = (await copyOf('../../../log/errors.ts')) as LogErrors;
    const thrown = new OtherLogError('log_busy', 'the pool is full');
    assert.equal(thrown instanceof LogError, false, 'the class is a different one');
    assert.ok(isLogError(thrown));
    assert.equal(apiError(thrown, new Problems()).code, 'log_busy');
  });

  it('of a verifier are recognised too', async () => {
    const { Unanswerable: Other } = (await copyOf(
      '../../../log/verify/finding.ts',
    )) as FindingErrors;
    const thrown = new Other('the kit does not know this log');
    assert.equal(thrown instanceof Unanswerable, false, 'the class is a different one');
    assert.ok(isUnanswerable(thrown));
    assert.equal(isLogError(thrown), false);
  });

  it('are not recognised by their name alone', () => {
    const named = Object.assign(new Error('no'), { name: 'ApiError', code: 'rate_limited' });
    assert.equal(isApiError(named), false);
    assert.equal(isLogError({ code: 'log_busy' }), false);
    assert.equal(apiError(named, new Problems()).code, 'internal_error');
  });
});
