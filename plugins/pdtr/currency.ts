// Currencies however a caller spells them: nobody gets past a limit or a fee by calling USDC usdc. gateway/API.md §10.2.

/** One spelling for all: NFKC, no space around it, capitals. */
export const spelled = (currency: string): string =>
  currency.normalize('NFKC').trim().toUpperCase();

/** The code of a catalog that is meant; what none lists stays as it was written. */
export function listedCode(written: string, codes: { has(code: string): boolean }): string {
  const code = spelled(written);
  return codes.has(code) ? code : written;
}
