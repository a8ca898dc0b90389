// Figures over scored texts: area under the curve, precision, recall, F1.

/** One text: its score in thousandths, whether it should be caught, whether it was. */
export interface Scored {
  readonly score: number;
  readonly positive: boolean;
  readonly caught: boolean;
  readonly tag: string;
}

/** What a set of scored texts shows; `auc` is NaN when only one class is there. */
export interface Figures {
  readonly texts: number;
  readonly auc: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly false_alarms: number;
}

export function figures(scored: readonly Scored[]): Figures {
  let hit = 0;
  let alarm = 0;
  let miss = 0;
  for (const { positive, caught } of scored) {
    if (caught && positive) hit++;
    else if (caught) alarm++;
    else if (positive) miss++;
  }
  return {
    texts: scored.length,
    auc: areaUnderCurve(scored),
    precision: hit / (hit + alarm),
    recall: hit / (hit + miss),
    f1: (2 * hit) / (2 * hit + alarm + miss),
    false_alarms: alarm,
  };
}

/** By ranks; ties share their mean rank. */
export function areaUnderCurve(scored: readonly Scored[]): number {
  const order = [...scored].sort((a, b) => a.score - b.score);
  let ranks = 0;
  let positives = 0;
  for (let i = 0; i < order.length;) {
    let j = i;
    while (j < order.length && order[j]?.score === order[i]?.score) j++;
    for (let k = i; k < j; k++) {
      if (order[k]?.positive !== true) continue;
      ranks += (i + j + 1) / 2;
      positives++;
    }
    i = j;
  }
  const negatives = order.length - positives;
  return (ranks - (positives * (positives + 1)) / 2) / (positives * negatives);
}

/** The share of right answers for each tag. */
export function rightByTag(
  scored: readonly Scored[],
): Record<string, { texts: number; right: number }> {
  const tags: Record<string, { texts: number; right: number }> = {};
  for (const { positive, caught, tag } of scored) {
    const entry = (tags[tag] ??= { texts: 0, right: 0 });
    entry.texts++;
    if (positive === caught) entry.right++;
  }
  return Object.fromEntries(Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The figures of each tag. */
export function figuresByTag(scored: readonly Scored[]): Record<string, Figures> {
  const tags = [...new Set(scored.map(({ tag }) => tag))].sort();
  return Object.fromEntries(
    tags.map((tag) => [tag, figures(scored.filter((one) => one.tag === tag))]),
  );
}
