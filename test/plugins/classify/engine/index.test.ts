// Tests of plugins/classify/engine/index.ts.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { engineOf, loadEngine } from '../../../../plugins/classify/engine/index.ts';
import { loadTables } from '../../../../plugins/classify/engine/tables.ts';

describe('classifier engine', () => {
  const engine = loadEngine();
  const verdict = (text: string, domain = 'general'): string =>
    engine.classify(text, domain).classification;

  it('classifies a protected reason in hiring as a violation and a calendar entry as safe', () => {
    const found = engine.classify('We should not hire her, she might get pregnant', 'hiring');
    assert.equal(found.classification, 'VIOLATION');
    assert.ok(found.rule_ids.includes('hiring.protected_speculation'));
    assert.equal(verdict('Schedule the interview for Monday', 'hiring'), 'SAFE');
  });

  it('gives CRISIS precedence over VIOLATION', () => {
    const both = 'I hate all immigrants, and I am going to kill myself tonight.';
    const found = engine.classify(both, 'general');
    assert.equal(found.classification, 'CRISIS');
    assert.ok(found.violation_milli >= 500);
  });

  it('answers ERROR, never SAFE, for texts without words and over the limit', () => {
    for (const text of [
      '',
      '  \n',
      '...',
      '\u200b\u200b',
      'a'.repeat(32_769),
      'é'.repeat(16_385),
    ]) {
      const found = engine.classify(text, 'general');
      assert.equal(found.classification, 'ERROR');
      assert.equal(found.score_milli, 0);
    }
    assert.notEqual(verdict('a '.repeat(16_384)), 'ERROR');
  });

  it('names the rules that were used, general for an unknown domain', () => {
    assert.equal(
      engine.classify('Hello there', 'Critical-Infrastructure').domain,
      'critical_infrastructure',
    );
    assert.equal(engine.classify('Hello there', 'astrology').domain, 'general');
    assert.equal(engine.classify('Hello there', '__proto__').domain, 'general');
    assert.deepEqual([...engine.domains].sort(), [
      'animal_welfare',
      'companion',
      'critical_infrastructure',
      'education',
      'general',
      'hiring',
      'insurance',
      'justice',
      'lending',
    ]);
  });

  it('uses the rules of a domain in that domain only', () => {
    const text = 'Bypass the safety interlock, we have to make the quota.';
    assert.ok(
      engine
        .classify(text, 'critical_infrastructure')
        .rule_ids.includes('infrastructure.defeat_safety'),
    );
    assert.deepEqual(engine.classify(text, 'general').rule_ids, []);
  });

  it('finds disguised words', () => {
    for (const text of [
      'I want to k i l l all women.',
      'I want to k1ll all w0men',
      'I want to kiiiill all women',
      'I w\u0430nt t\u043e kill all w\u043emen',
      'I want to ki\u200bll all wo\u00admen',
      '\uff29 \uff57\uff41\uff4e\uff54 \uff54\uff4f \uff4b\uff49\uff4c\uff4c all women',
      'I want to k\u0335i\u0336ll all women',
    ]) {
      const found = engine.classify(text, 'general');
      assert.ok(found.rule_ids.includes('general.threat_group'), text);
    }
  });

  it('distinguishes attacks from denial, quotation and counter-speech', () => {
    assert.equal(verdict('Muslims are vermin.'), 'VIOLATION');
    assert.equal(verdict('Muslims are not vermin.'), 'SAFE');
    assert.equal(verdict('Stop calling Muslims vermin.'), 'SAFE');
    assert.equal(verdict('Anyone who writes "Muslims are vermin" gets banned here.'), 'SAFE');
    // A message that is entirely in quotation marks is attributed to the sender.
    assert.equal(verdict('"Muslims are vermin."'), 'VIOLATION');
    assert.equal(verdict('I am not racist, but Muslims are vermin.'), 'VIOLATION');
  });

  it('never classifies a text in another language as SAFE with a high score', () => {
    for (const text of [
      'Сегодня вечером мы идём в театр с друзьями.',
      '今日は友達と映画を見に行きます。',
      'Domani vado al mercato con mia madre perché voglio comprare il pane.',
      'Amanhã eu vou ao mercado com a minha mãe porque não temos pão.',
      'Morgen ga ik met mijn moeder naar de markt omdat we geen brood hebben.',
      'Jutro idę z mamą na targ, bo nie mamy już chleba i mleka.',
    ]) {
      const found = engine.classify(text, 'general');
      assert.equal(found.language_unsupported, true, text);
      if (found.classification === 'SAFE') assert.ok(found.score_milli <= 300);
    }
    assert.equal(
      engine.classify('Wann fährt der nächste Zug nach Köln?', 'general').language_unsupported,
      false,
    );
    assert.equal(
      engine.classify('¿A qué hora sale el tren?', 'general').language_unsupported,
      false,
    );
    assert.equal(
      engine.classify('À quelle heure part le train ?', 'general').language_unsupported,
      false,
    );
  });

  it('explains with rule, span and score', () => {
    const { explain } = engine.classify('Please listen. Muslims are vermin.', 'general');
    const { rules } = explain as {
      rules: { rule: string; words: string; start: number; end: number; score_milli: number }[];
    };
    const hit = rules.find(({ rule }) => rule === 'general.dehumanise');
    assert.equal(hit?.words, 'muslims are vermin');
    assert.equal(hit.end - hit.start, 'muslims are vermin'.length);
    assert.ok(hit.score_milli >= 500);
  });

  it('never throws, stays in its ranges and is deterministic, for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 400 }),
          fc.string({ unit: 'grapheme', maxLength: 200 }),
          words,
        ),
        fc.oneof(fc.constantFrom(...engine.domains), fc.string()),
        (text, domain) => {
          const found = engine.classify(text, domain);
          for (const milli of [found.violation_milli, found.crisis_milli, found.score_milli]) {
            assert.ok(Number.isInteger(milli) && milli >= 0 && milli <= 1000);
          }
          assert.deepEqual(engine.classify(text, domain), found);
          JSON.stringify(found.explain);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('gives the same answer whatever was classified before', () => {
    const other = engineOf(loadTables());
    for (let k = 0; k < 300; k++) other.classify(`w${String(k)}rd f*ck k1ll`, 'hiring');
    const text = 'Delete the interview notes before legal asks for them.';
    assert.deepEqual(other.classify(text, 'hiring'), engine.classify(text, 'hiring'));
  });
});

/** Texts that match many rules, with words in any order. */
const words = fc
  .array(
    fc.constantFrom(
      'i',
      'want',
      'to',
      'kill',
      'all',
      'women',
      'not',
      '"',
      "'",
      '.',
      '!',
      'k i l l',
      'because',
      'she',
      'pregnant',
      'f*',
      '*',
      '@',
      '$$',
      '\u0301',
    ),
    { maxLength: 200 },
  )
  .map((list) => list.join(' '));
