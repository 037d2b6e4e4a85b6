import { StatusError } from '@gantry/objects';
import { beforeEach, expect, it } from 'vitest';
import { createRegistry } from '../create-registry.ts';
import { allowAll, startHarness, type Harness, patchBody, WRITE } from '../testing.ts';

let h: Harness;
beforeEach(async () => {
  h = await startHarness();
});

it('an apply that creates needs the right to create as well', async () => {
  const asked: string[] = [];
  const authorizer: typeof allowAll = {
    ...allowAll,
    authorize: (_user, verb) => {
      asked.push(verb);
      if (verb === 'create') throw StatusError.forbidden({ group: '', resource: 'configmaps' }, 'a', 'refused');
    },
  };
  const registry = createRegistry({ ...h.deps, authorizer });
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  const body = patchBody('application/apply-patch+yaml', new TextEncoder().encode(JSON.stringify(object)));
  const apply = registry.patch(h.context(), h.target('configmaps', 'a'), body, WRITE);
  await expect(h.settle(apply)).rejects.toMatchObject({ reason: 'Forbidden' });
  expect(asked).toEqual(['patch', 'create']);
});
