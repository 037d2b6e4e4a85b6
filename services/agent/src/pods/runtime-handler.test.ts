import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { type RuntimeClass, RUNTIME_CLASSES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { ENGINE, pod } from '../testing/pods.ts';
import { runtimeHandler } from './runtime-handler.ts';

const { signal } = new AbortController();

it.each([
  [undefined, undefined],
  ['', undefined],
  ['ordinary', 'runc'],
])('a pod of the class %j runs with %j', async (runtimeClassName, handler) => {
  const spec = runtimeClassName === undefined ? {} : { runtimeClassName };
  expect(await runtimeHandler(pod(spec), { client: await clientWithClasses(), engine: ENGINE }, signal)).toBe(handler);
});

it.each([
  ['gone', 'RuntimeClass "gone" not found'],
  ['strong', 'failed to get sandbox runtime: no runtime for "gvisor" is configured'],
])('a pod of the class %j does not run with the ordinary runtime instead', async (runtimeClassName, message) => {
  const client = await clientWithClasses();
  const handler = runtimeHandler(pod({ runtimeClassName }), { client, engine: ENGINE }, signal);
  await expect(handler).rejects.toThrow(message);
});

async function clientWithClasses(): Promise<FakeObjectClient> {
  const client = new FakeObjectClient(new ManualClock());
  for (const [name, handler] of [
    ['ordinary', 'runc'],
    ['strong', 'gvisor'],
  ] as const) {
    const object: RuntimeClass = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler };
    await client.create(RUNTIME_CLASSES, object, signal);
  }
  return client;
}
