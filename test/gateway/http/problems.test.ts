// The table of error codes compared with gateway/API.md §4.1.

import assert from 'node:assert/strict';
import {
  apiError,
  envelope,
  PROBLEMS,
  problemHeaders,
  Problems,
  typeOf,
} from '../../../gateway/http/problems.ts';
import { LogError } from '../../../log/index.ts';
import { ApiError, errorsOf } from '../../../plugins/contract/index.ts';

const TABLE: [number, string, string][] = [
  [
    400,
    'invalid_request_error',
    'message_required parameter_missing parameter_unknown parameter_invalid invalid_json body_required invalid_format invalid_idempotency_key invalid_webhook_url',
  ],
  [401, 'authentication_error', 'api_key_missing api_key_invalid api_key_revoked api_key_expired'],
  [403, 'authentication_error', 'tenant_forbidden role_forbidden'],
  [404, 'invalid_request_error', 'resource_missing route_not_found'],
  [405, 'invalid_request_error', 'method_not_allowed'],
  [
    409,
    'invalid_request_error',
    'window_not_closed retention_hold idempotency_key_reused idempotency_key_in_use',
  ],
  [413, 'invalid_request_error', 'payload_too_large entry_too_large'],
  [415, 'invalid_request_error', 'unsupported_media_type'],
  [429, 'rate_limit_error', 'rate_limited'],
  [500, 'api_error', 'internal_error'],
  [502, 'api_error', 'upstream_error'],
  [503, 'api_error', 'log_unavailable log_busy plugin_failed not_ready'],
];

const errors = errorsOf({
  receipt_required: { status: 428, sentence: 'The act needs a receipt.' },
});
const problems = new Problems(Object.values(errors));

describe('problems', () => {
  it('has the codes of the specification with their status and type, and no other', () => {
    const expected = Object.fromEntries(
      TABLE.flatMap(([status, type, codes]) =>
        codes.split(' ').map((code) => [code, { status, type }]),
      ),
    );
    const found = Object.entries(PROBLEMS).map(([code, { status }]) => [
      code,
      { status, type: typeOf(status) },
    ]);
    assert.deepEqual(Object.fromEntries(found), expected);
  });

  it('hides the message of a defect', () => {
    const error = apiError(new TypeError('the secret cause'), problems);
    assert.equal(error.code, 'internal_error');
    assert.doesNotMatch(JSON.stringify(envelope(error, 500, 'req_x')), /secret/);
  });

  it('hides the reason of a 503, and shows that of a 400', () => {
    const hidden = apiError(new LogError('log_unavailable', 'disk /x is full'), problems);
    assert.equal(hidden.code, 'log_unavailable');
    assert.doesNotMatch(hidden.message, /disk/);
    assert.deepEqual(problemHeaders(hidden, 503), { 'Retry-After': '5' });
    const shown = apiError(
      new LogError('event_time_out_of_range', 'event_at_ms is too old'),
      problems,
    );
    assert.deepEqual(
      [shown.code, shown.param, shown.message],
      ['parameter_invalid', 'event_at_ms', 'event_at_ms is too old'],
    );
  });

  it('treats a core error that no request can cause as a defect', () => {
    assert.equal(
      apiError(new LogError('store_corrupt', 'a block'), problems).code,
      'internal_error',
    );
  });

  it('treats a code that no plugin declares as a defect, and keeps the error for the log', () => {
    const thrown = new ApiError(errors.receipt_required, 'bring one');
    assert.equal(apiError(thrown, problems), thrown);
    const error = apiError(thrown, new Problems());
    assert.equal(error.code, 'internal_error');
    assert.match(
      (error.cause as Error).message,
      /receipt_required, which the plugin does not decl/,
    );
    assert.equal((error.cause as Error).cause, thrown);
  });

  it('writes the error envelope, with extra members next to the error', () => {
    const error = new ApiError(errors.receipt_required, 'bring one', {
      param: 'receipt',
      members: { required: { a: 1 } },
    });
    assert.deepEqual(envelope(error, 428, 'req_1'), {
      required: { a: 1 },
      error: {
        type: 'invalid_request_error',
        code: 'receipt_required',
        message: 'bring one',
        param: 'receipt',
        request_id: 'req_1',
      },
    });
  });

  it('lets an error set its own Retry-After', () => {
    const error = new ApiError('window_not_closed', 'wait', { headers: { 'Retry-After': '9' } });
    assert.deepEqual(problemHeaders(error, 409), { 'Retry-After': '9' });
  });
});
