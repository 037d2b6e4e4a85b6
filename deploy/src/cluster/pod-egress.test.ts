import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { METADATA_RANGES } from '@gantry/objects';
import { expect, test } from 'vitest';

const PROGRAM = join(import.meta.dirname, '../../images/pod-egress');

test('pods are kept away from the same metadata services as Services and Ingresses', async () => {
  const text = await readFile(PROGRAM, 'utf8');
  const ranges = /^use constant \{METADATA => \[qw\((.*)\)\]\};$/m.exec(text)?.[1];
  expect(ranges?.split(' ')).toEqual(METADATA_RANGES);
});
