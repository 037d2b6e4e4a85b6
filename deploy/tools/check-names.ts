/**
 * Reports names of labels, annotations, taints, finalizers and the like that two files of the product write out: each has one
 * constant, in `packages/objects` where more than one workspace needs it. Tests state the contract, and may write them out.
 */
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { repeatedNames } from './repeated-names.ts';
import { isTest, readSourceFiles } from './shape/source-files.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const PRODUCT = /^(?:(?:packages|services)\/[^/]+|deploy)\/src\//;

const files = readSourceFiles(root).filter(({ path }) => PRODUCT.test(path) && !isTest(path));
const repeated = repeatedNames(files);
for (const { name, places } of repeated) {
  process.stderr.write(`${name} stands in ${places.map(({ path, line }) => `${path}:${line}`).join(', ')}\n`);
}
process.stdout.write(`${files.length} files, ${repeated.length} names that stand twice\n`);
process.exitCode = repeated.length === 0 ? 0 : 1;
