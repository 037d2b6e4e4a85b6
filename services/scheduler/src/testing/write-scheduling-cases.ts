/**
 * Prints the first generated cases, one a line, for `reference/main.go`:
 * `node --conditions=gantry-source src/testing/write-scheduling-cases.ts 5000`.
 */
import { generatedCase } from './reference/generated-case.ts';

const count = Number(process.argv[2] ?? 5000);
for (let seed = 0; seed < count; seed++) process.stdout.write(`${JSON.stringify(generatedCase(seed))}\n`);
