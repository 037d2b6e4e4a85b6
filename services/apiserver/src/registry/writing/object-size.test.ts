import { beforeEach, expect, it } from 'vitest';
import { startHarness, type Harness } from '../testing.ts';

const LIMIT = 1_572_864;

let h: Harness;
beforeEach(async () => {
  h = await startHarness();
});

it('stores no object beyond the size that etcd takes in Kubernetes', async () => {
  const revision = (name: string, bytes: number) =>
    h.create('controllerrevisions', {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name },
      data: { text: 'x'.repeat(bytes) },
      revision: 1,
    });
  await revision('fits', LIMIT - 1024);
  await expect(revision('big', LIMIT)).rejects.toMatchObject({
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: limit is ${LIMIT}`,
  });
});
