// What hides a word: digits for letters, stars, stretched letters. Tables and pure steps of vocabulary.ts.

/** Characters that are written in place of letters. */
export const LEET = new Map<string, string>([
  ['0', 'o'],
  ['1', 'i'],
  ['3', 'e'],
  ['4', 'a'],
  ['5', 's'],
  ['7', 't'],
  ['8', 'b'],
  ['9', 'g'],
  ['@', 'a'],
  ['$', 's'],
  ['!', 'i'],
  ['|', 'l'],
  ['#', 'h'],
]);

/** Letters that a star is tried as. */
export const MASKED = 'aeiou';

/** The few words that people mask. */
const OFTEN_MASKED = [
  'fuck',
  'fucking',
  'fucker',
  'shit',
  'bitch',
  'cunt',
  'nigger',
  'nigga',
  'faggot',
  'whore',
  'slut',
  'asshole',
  'retard',
  'kike',
  'rape',
  'kill',
  'suicide',
  'dick',
  'pussy',
  'bastard',
  'tranny',
  'dyke',
];

let outlineCache: Map<string, string> | undefined;

/** Words by length, first letter and the letters that a mask leaves at both ends. */
export function outlines(): ReadonlyMap<string, string> {
  if (outlineCache !== undefined) return outlineCache;
  outlineCache = new Map();
  for (const word of OFTEN_MASKED) {
    for (let head = 1; head < word.length; head++) {
      for (let tail = 0; head + tail < word.length; tail++) {
        const rest = word.slice(1, head) + word.slice(word.length - tail);
        const key = word.length + word.charAt(0) + rest;
        if (!outlineCache.has(key)) outlineCache.set(key, word);
      }
    }
  }
  return outlineCache;
}

/** Words of two letters that others are joined to. */
export const SHORT = new Set([
  'to',
  'be',
  'is',
  'in',
  'of',
  'my',
  'me',
  'we',
  'no',
  'so',
  'up',
  'on',
  'it',
  'at',
  'an',
  'or',
  'do',
]);

/** "kiill" as k, ii, ll. */
export function runsOf(word: string): string[] {
  const runs: string[] = [];
  for (const letter of word) {
    const last = runs.length - 1;
    if (runs[last]?.startsWith(letter) === true) runs[last] += letter;
    else runs.push(letter);
  }
  return runs;
}

/** Whether one word is the other with its letters in another order. */
export function sameLetters(a: string, b: string): boolean {
  return a.split('').sort().join('') === b.split('').sort().join('');
}
