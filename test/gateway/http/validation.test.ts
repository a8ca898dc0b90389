// How a schema error becomes one API error with code and parameter, and that values are not converted.

import assert from 'node:assert/strict';
import Type from 'typebox';
import type { TObjectOptions } from 'typebox';
import { compileSchema } from '../../../gateway/http/validation.ts';
import { ApiError, atLeastOne, exactlyOne, neededBy } from '../../../plugins/contract/index.ts';

const schema = Type.Object({
  message: Type.String(),
  nested: Type.Optional(Type.Object({ 'a/b': Type.Array(Type.Object({ id: Type.Integer() })) })),
  when: Type.Optional(Type.String({ format: 'date-time' })),
});
const validate = compileSchema(schema, 'body');
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

  it('names what a conditional requirement misses, and which members exclude each other', () => {
    const members = {
      one: Type.Optional(Type.String()),
      two: Type.Optional(Type.String()),
      kind: Type.Optional(Type.Enum(['list', 'none'])),
      items: Type.Optional(Type.Array(Type.String())),
    };
    const said = (options: TObjectOptions, value: unknown): unknown[] => {
      try {
        compileSchema(Type.Object(members, options), 'body')(value);
      } catch (error) {
        assert.ok(error instanceof ApiError);
        return [error.code, error.param, error.message];
      }
      return [];
    };
    const either = exactlyOne('one', 'two');
    assert.deepEqual(said(either, {}), ['parameter_missing', 'one', 'one or two is missing']);
    assert.deepEqual(said(either, { one: '1', two: '2' }), [
      ...['parameter_invalid', 'two'],
      'one and two are given: one of them is allowed',
    ]);
    assert.deepEqual(said(either, { two: '2' }), []);
    const some = atLeastOne(['one', 'two'], 'kind');
    assert.deepEqual(said(some, { one: '1' }), [
      ...['parameter_missing', 'two'],
      'two or kind is missing',
    ]);
    assert.deepEqual(said(some, { one: '1', two: '2', kind: 'none' }), []);
    const listed = neededBy('kind', { list: ['items'] });
    assert.deepEqual(said(listed, { kind: 'list' }), [
      ...['parameter_missing', 'items'],
      'items is missing',
    ]);
    for (const value of [{}, { kind: 'none' }]) assert.deepEqual(said(listed, value), []);
    assert.deepEqual(said({ dependentRequired: { one: ['two'] } }, { one: '1' }), [
      ...['parameter_missing', 'two'],
      'two is missing: one needs it',
    ]);
  });

  it('names what is wrong', () => {
    assert.deepEqual(failure({ message: null }), ['parameter_invalid', 'message']);
    assert.deepEqual(failure({ message: '', when: 'now' }), ['parameter_invalid', 'when']);
    for (const value of [[], 'x', null, 1])
      assert.deepEqual(failure(value), ['parameter_invalid', undefined]);
  });

  it('names the allowed values, and the member that is not allowed', () => {
    const Rule = Type.Object(
      {
        effect: Type.Enum(['allow', 'deny', 'hold']),
        value: Type.Optional(
          Type.Union([Type.String({ pattern: '^[0-9]+$' }), Type.Number({ minimum: 0 })]),
        ),
        place: Type.Optional(Type.Union([Type.Null(), Type.Object({ row: Type.Integer() })])),
        mode: Type.Optional(Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Null()])),
        ok: Type.Optional(Type.Literal(true)),
      },
      { additionalProperties: false },
    );
    const check = compileSchema(Type.Object({ rules: Type.Array(Rule) }), 'body');
    const said = (rule: object): string => {
      try {
        check({ rules: [{ effect: 'deny', ...rule }] });
      } catch (error) {
        assert.ok(error instanceof ApiError);
        return `${String(error.param)}: ${error.message}`;
      }
      throw new Error('it was accepted');
    };
    const effect = 'rules.0.effect must be "allow", "deny" or "hold"';
    assert.equal(said({ effect: 'alow' }), `rules.0.effect: ${effect}`);
    assert.equal(said({ value: [] }), 'rules.0.value: rules.0.value must be string or number');
    assert.equal(
      said({ value: 'x' }),
      'rules.0.value: rules.0.value must match pattern "^[0-9]+$"',
    );
    assert.equal(said({ value: -1 }), 'rules.0.value: rules.0.value must be >= 0');
    assert.equal(
      said({ place: { row: 'x' } }),
      'rules.0.place.row: rules.0.place.row must be integer',
    );
    assert.equal(said({ place: {} }), 'rules.0.place.row: rules.0.place.row is missing');
    assert.equal(said({ mode: 1 }), 'rules.0.mode: rules.0.mode must be "on", "off" or null');
    assert.equal(said({ ok: false }), 'rules.0.ok: rules.0.ok must be true');
    assert.equal(said({ efect: 1 }), 'rules.0.efect: rules.0.efect is no member of rules.0');
  });

  it('ignores unknown members and converts nothing', () => {
    const value = { message: 'x', other: 1 };
    validate(value);
    assert.deepEqual(value, { message: 'x', other: 1 });
    assert.deepEqual(failure({ message: 1 }), ['parameter_invalid', 'message']);
  });

  it('does not treat inherited names as members', () => {
    const inherits = compileSchema(Type.Object({ toString: Type.String() }), 'body');
    assert.throws(() => inherits({}), ApiError);
  });
});
