import { NAMESPACES, SERVICE_ACCOUNTS, StatusError } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { serviceAccountController } from './controller.ts';

it('tries again what a quota refused, and not what a terminating namespace did', async () => {
  const { client, clock, run } = createControllerHarness();
  const of = SERVICE_ACCOUNTS;
  const causes = [{ reason: 'NamespaceTerminating' }];
  const refusals = {
    full: StatusError.forbidden(of, 'default', 'exceeded quota: q'),
    going: new StatusError('Forbidden', 'namespace going is being terminated', { details: { causes } }),
  };
  for (const [name, refusal] of Object.entries(refusals)) {
    const isCreate = ({ verb, resource }: { verb: string; resource: object }) => verb === 'create' && resource === of;
    client.failNext(isCreate, refusal);
    await client.put(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  run([serviceAccountController]);
  await clock.advance(5000);
  expect(client.all(of).map(({ metadata }) => metadata.namespace)).toEqual(['full']);
});
