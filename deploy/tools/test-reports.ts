/** Reports of Vitest's JSON reporter that `npm test` sums up, by the tests that write them; paths begin at the root. */
export const REPORTS = {
  unit: '.gantry/unit.json',
  parts: '.gantry/parts.json',
  integration: '.gantry/integration.json',
} as const;
