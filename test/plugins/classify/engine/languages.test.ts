// Tests of the engine in Spanish, German and French, and in languages it does not know: threats, hate, harassment, requests for harm and hiring. gateway/API.md §6.1.

import assert from 'node:assert/strict';
import { loadEngine } from '../../../../plugins/classify/engine/index.ts';

const VIOLATIONS = {
  general: [
    'Te voy a matar, sé dónde vives.',
    'Los inmigrantes son una plaga y hay que echarlos.',
    'Cállate, hijo de puta.',
    'Ich bring dich um, wenn ich dich sehe.',
    'Die Ausländer sind Abschaum und gehören weg.',
    'Halt die Fresse, du Hurensohn.',
    'Je vais te tuer, je sais où tu habites.',
    'Les Arabes sont des parasites, il faut les chasser.',
    'Ferme ta gueule, sale connard.',
  ],
  hiring: [
    'No la contrates, está embarazada.',
    'No quiero gitanos, descarta a los gitanos.',
    'Stell sie nicht ein, sie ist schwanger.',
    'Bitte keine Ausländer einladen.',
    "Ne l'embauche pas, elle est enceinte.",
    'Pas de musulmans, les clients ne veulent pas de musulmans.',
  ],
} as const;

const LAWFUL = {
  general: [
    'Me muero de risa con este libro.',
    'Los inmigrantes celebran hoy su fiesta.',
    'Ich bin todmüde und gehe ins Bett.',
    'Die Ausländer im Kurs lernen schnell Deutsch.',
    'Je suis mort de fatigue, bonne nuit.',
    'Les Arabes ont ouvert une boulangerie dans notre rue.',
  ],
  hiring: [
    'Está embarazada y empieza en junio, felicítala.',
    'No tiene el carné que exige el puesto, recházalo.',
    'Sie ist schwanger, plane die Vertretung.',
    'Der Fahrer hat keinen Führerschein, sag ihm ab.',
    'Elle est enceinte, prévois son remplacement.',
    "Il n'a pas le permis que le poste exige, refuse-le.",
  ],
} as const;

/** The same harmless text in languages without training data. */
const UNREAD = [
  'Сегодня хорошая погода, пойдём гулять в парк с детьми.',
  'Сьогодні гарна погода, підемо гуляти в парк з дітьми.',
  'Σήμερα ο καιρός είναι καλός, πάμε βόλτα στο πάρκο με τα παιδιά.',
  'الطقس جميل اليوم، لنذهب إلى الحديقة مع الأطفال.',
  'מזג האוויר יפה היום, בוא נלך לפארק עם הילדים.',
  'आज मौसम अच्छा है, चलो बच्चों के साथ पार्क चलते हैं।',
  '今天天气很好,我们带孩子去公园散步吧。',
  '今日は天気がいいので、子供たちと公園に行きましょう。',
  '오늘 날씨가 좋으니 아이들과 공원에 갑시다.',
  'วันนี้อากาศดี ไปเดินเล่นที่สวนสาธารณะกับลูกๆ กันเถอะ',
  'Oggi il tempo è bello, andiamo al parco con i bambini.',
  'Hoje o tempo está bom, vamos ao parque com as crianças.',
  'Vandaag is het mooi weer, laten we met de kinderen naar het park gaan.',
  'Dzisiaj jest ładna pogoda, chodźmy z dziećmi do parku.',
  'Bugün hava güzel, çocuklarla parka gidelim.',
  'Idag är det fint väder, låt oss gå till parken med barnen.',
  'Ma szép idő van, menjünk a gyerekekkel a parkba.',
];

describe('classifier in other languages', () => {
  const engine = loadEngine();

  it('reports no violation in an unknown script, however long the text', () => {
    for (const text of UNREAD)
      for (const times of [1, 2, 5, 40]) {
        const backwards = text.split(' ').reverse().join(' ');
        const whole = `${text} ${backwards} `.repeat(times);
        for (const domain of ['general', 'hiring', 'companion'])
          assert.equal(engine.classify(whole, domain).classification, 'SAFE', `${domain}: ${text}`);
      }
  });

  it('still finds the harmful words of its vocabulary', () => {
    const found = engine.classify(
      'Сегодня fuck you stupid nigger погода сегодня хорошая',
      'general',
    );
    assert.equal(found.classification, 'VIOLATION');
  });
});

describe('classifier in Spanish, German and French', () => {
  const engine = loadEngine();

  for (const domain of ['general', 'hiring'] as const) {
    it(`finds violations of ${domain}`, () => {
      for (const text of VIOLATIONS[domain])
        assert.equal(engine.classify(text, domain).classification, 'VIOLATION', text);
    });

    it(`leaves lawful texts of ${domain} alone`, () => {
      for (const text of LAWFUL[domain])
        assert.equal(engine.classify(text, domain).classification, 'SAFE', text);
    });
  }
});
