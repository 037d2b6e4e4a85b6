import { must } from '@gantry/base';
import { expect, it } from 'vitest';
import type { Pod } from '@gantry/objects';
import { validateNew } from '@gantry/apimachinery';
import { findResource } from './registry.ts';

const MANY = 1_000_000;

it('finds more that is wrong than fits on the stack', () => {
  const definition = must(findResource({ group: '', version: 'v1', resource: 'pods' }), 'pods');
  const env = Array.from({ length: MANY }, () => ({ name: '' }));
  const spec = { containers: [{ name: 'a', image: 'a', env }] };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'b' }, spec };
  expect(validateNew(definition, pod).length).toBeGreaterThanOrEqual(MANY);
});
