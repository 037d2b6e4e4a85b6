import { writeFileSync } from 'node:fs';
import { resources } from '@gantry/kinds';
import { schemasOf } from './descriptions.ts';
import { extractDescriptions } from './extract-descriptions.ts';

/**
 * Writes the descriptions of the served resources to a file, which the build puts next to the bundle:
 * `node --conditions=gantry-source services/apiserver/src/endpoints/openapi/write-descriptions.ts FILE`.
 */
const [, , file = 'descriptions.json'] = process.argv;
writeFileSync(file, JSON.stringify(extractDescriptions(schemasOf(resources))));
