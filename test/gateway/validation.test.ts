// A failed schema as one error: its code, its parameter, and that values stay as they came.

import assert from 'node:assert/strict';
import Type from 'typebox';
import { schemaCompiler } from '../../gateway/validation.ts';
import { ApiError } from '../../plugins/contract.ts';

const compile = schemaCompiler();
const schema = Type.Object({
  message: Type.String(),
  nested: Type.Optional(Type.Object({ 'a/b': Type.Array(Type.Object({ id: Type.Integer() })) })),
  when: Type.Optional(Type.String({ format: 'date-time' })),
});
const validate = compile(schema, 'body');
const failure = (value: unknown): [string, string | undefined] => {
  try {
    validate(value);
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return [error.code, error.param];
  }
  throw new Error('it was accepted');
};

describe('validation', () => {
  it('names what is missing', () => {
    assert.deepEqual(failure({}), ['message_required', 'message']);
    assert.deepEqual(failure({ message: '', nested: {} }), ['parameter_missing', 'nested.a/b']);
    assert.deepEqual(failure({ message: '', nested: { 'a/b': [{}] } }), [
      'parameter_missing',
      'nested.a/b.0.id',
    ]);
  });

  it('names what is wrong', () => {
    assert.deepEqual(failure({ message: null }), ['parameter_invalid', 'message']);
    assert.deepEqual(failure({ message: '', when: 'now' }), ['parameter_invalid', 'when']);
    for (const value of [[], 'x', null, 1])
      assert.deepEqual(failure(value), ['parameter_invalid', undefined]);
  });

  it('lets unknown members be and converts nothing', () => {
    const value = { message: 'x', other: 1 };
    validate(value);
    assert.deepEqual(value, { message: 'x', other: 1 });
    assert.deepEqual(failure({ message: 1 }), ['parameter_invalid', 'message']);
  });

  it('does not take inherited names for members', () => {
    const inherits = compile(Type.Object({ toString: Type.String() }), 'body');
    assert.throws(() => inherits({}), ApiError);
  });
});
