import { CONFIG_MAPS, NAMESPACES, StatusError } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createRootCaController } from './controller.ts';

it('tries again what a quota refused, and not what a terminating namespace did', async () => {
  const { client, clock, run } = createControllerHarness();
  const of = CONFIG_MAPS;
  const causes = [{ reason: 'NamespaceTerminating' }];
  const refusals = {
    full: StatusError.forbidden(of, 'kube-root-ca.crt', 'exceeded quota: q'),
    going: new StatusError('Forbidden', 'namespace going is being terminated', { details: { causes } }),
  };
  for (const [name, refusal] of Object.entries(refusals)) {
    const isCreate = ({ verb, resource }: { verb: string; resource: object }) => verb === 'create' && resource === of;
    client.failNext(isCreate, refusal);
    await client.put(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const codes: number[] = [];
  run([createRootCaController(() => 'pem', { synced: (code) => codes.push(code) })]);
  await clock.advance(5000);
  expect(client.all(of).map(({ metadata }) => metadata.namespace)).toEqual(['full']);
  expect(codes).toContain(403);
});
