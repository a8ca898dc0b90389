// The figures as a table for people and as JSON for everything else.

import { availableParallelism, cpus } from 'node:os';
import Table from 'cli-table3';
import { reaches } from './figure.ts';
import type { Figure, Unit } from './figure.ts';

const UNITS: Readonly<Record<Unit, (value: number) => string>> = {
  ratio: (value) => value.toFixed(value < 10 ? 3 : 1),
  ms: (value) => `${value.toFixed(value < 1 ? 3 : 1)} ms`,
  s: (value) => `${value.toFixed(2)} s`,
  KB: (value) => `${value.toFixed(2)} KB`,
  MB: (value) => `${value.toFixed(0)} MB`,
};

/** Lines of text, one row for each figure. */
export function tableOf(figures: readonly Figure[]): string {
  const table = new Table({
    head: ['figure', 'measured', 'at least', 'aim', '', 'steal', 'made of'],
    style: { head: [], border: [] },
    colWidths: [36, null, null, null, null, null, 44],
    wordWrap: true,
  });
  for (const figure of figures) {
    const show = UNITS[figure.unit];
    const sign = figure.better === 'lower' ? '≤ ' : '';
    table.push([
      `${figure.name}\n${figure.what}`,
      show(figure.value),
      sign + show(figure.at_least),
      sign + show(figure.aim),
      verdictOf(figure),
      figure.steal === null ? 'unknown' : `${(figure.steal * 100).toFixed(1)} %`,
      Object.entries(figure.parts)
        .map(([name, value]) => `${name} ${number(value)}`)
        .join('\n'),
    ]);
  }
  return table.toString();
}

/** One figure in a line: `append.signed 0.374, at least 0.400: NOT MET`. */
export function lineOf(figure: Figure): string {
  const show = UNITS[figure.unit];
  const bound = figure.better === 'lower' ? 'at most' : 'at least';
  return `${figure.name} ${show(figure.value)}, ${bound} ${show(figure.at_least)}: ${verdictOf(figure)}`;
}

/** The same as one JSON text, with the machine they were measured on. */
export function jsonOf(figures: readonly Figure[], quick: boolean): string {
  return JSON.stringify(
    {
      node: process.version,
      processor: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      quick,
      figures: figures.map((figure) => ({
        ...figure,
        met: reaches(figure, figure.at_least),
        aim_met: reaches(figure, figure.aim),
      })),
    },
    null,
    2,
  );
}

function verdictOf(figure: Figure): string {
  if (reaches(figure, figure.aim)) return 'aim met';
  return reaches(figure, figure.at_least) ? 'met' : 'NOT MET';
}

const number = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
