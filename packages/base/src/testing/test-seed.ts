/** The seed of all random choices of a run, if the environment sets one. */
const GIVEN = process.env['GANTRY_TEST_SEED'];

/** The seed of the random choices of `what`: GANTRY_TEST_SEED, else `usual`. Printed, so that a failed run can be repeated. */
export function testSeed(what: string, usual: number): number {
  const seed = GIVEN === undefined ? usual : Number(GIVEN);
  if (!Number.isSafeInteger(seed)) throw new RangeError(`GANTRY_TEST_SEED: ${GIVEN ?? ''} is not an integer`);
  process.stdout.write(`${what}: GANTRY_TEST_SEED=${seed}\n`);
  return seed;
}
