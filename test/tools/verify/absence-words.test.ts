// log/verify/absence-finding.ts: the text about an absence in `actlog verify` and on the page: which log was asked, and
// whether the surface was watched or only declared.

import assert from 'node:assert/strict';
import { verifyAbsence } from '../../../log/verify.ts';
import { absenceWords } from '../../../log/verify/absence-finding.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import { documentOf, questionOf, SURFACE, trust } from '../../support/absence-documents.ts';
import { vectors, vectorTrust } from '../../support/absence-vectors.ts';
import { Forge, START_MS } from '../../support/forge.ts';

describe('the text about an absence', () => {
  const wordsOf = async (title: string): Promise<string> => {
    const { doc } = vectors.documents.find(({ name }) => name === title)!;
    const question = questionOf(doc);
    const result = verifyAbsence(doc, question, vectorTrust);
    const { origin } = vectorTrust;
    const words = absenceWords(question, result, { more: doc['more'] === true, origin });
    const shown = { kind: 'absence', document: doc };
    const { summary, facts } = await checkDocument(shown, vectorTrust, { question });
    assert.equal(summary, words);
    assert.equal(facts['heartbeat_interval_ms'], result.heartbeat_interval_ms);
    return words;
  };

  it('distinguish a watched surface from one without a declaration', async () => {
    const watched = await wordsOf('absent-never-with-coverage');
    assert.match(watched, /the heartbeats that were promised, one in 30000 ms, cover the window/);
    const unwatched = await wordsOf('absent-gap-no-heartbeat-declared');
    assert.match(
      unwatched,
      /^ABSENT: .*declared the surface all along; no heartbeats were promised/,
    );
    assert.doesNotMatch(unwatched, /cover/);
    assert.doesNotMatch(await wordsOf('absent-session'), /heartbeat|manifest/);
  });

  it('print a time that is no date as its milliseconds', async () => {
    const log = new Forge().usual();
    log.ms = 8_640_000_000_000_000;
    log.mapHead();
    const question = { key: SURFACE, from_ms: START_MS + 50_000, to_ms: START_MS + 60_000 };
    const document = documentOf(log, question, { verdict: 'UNDECLARED' });
    const shown = { kind: 'absence', document };
    const { checks } = await checkDocument(shown, trust, { question });
    assert.match(checks[0]?.detail ?? '', /log as of 8640000000001000 ms/);
  });

  it('name the log', async () => {
    for (const { name } of vectors.documents) {
      assert.ok((await wordsOf(name)).includes(`in log ${vectorTrust.origin}`), name);
    }
  });
});
