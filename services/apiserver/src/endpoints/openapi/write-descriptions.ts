import { writeFileSync } from 'node:fs';
import { resources } from '@gantry/kinds';
import { schemasOf } from './descriptions.ts';
import { extractDescriptions } from './extract-descriptions.ts';

/**
 * Writes the sentences about the served resources to the file that it is given, for the build to put beside the bundle:
 * `node --conditions=gantry-source services/apiserver/src/openapi/write-descriptions.ts FILE`.
 */
const [, , file = 'descriptions.json'] = process.argv;
writeFileSync(file, JSON.stringify(extractDescriptions(schemasOf(resources))));
