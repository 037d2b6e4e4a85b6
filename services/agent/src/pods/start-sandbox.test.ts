import { type PodSpec, type RuntimeClass, RUNTIME_CLASSES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SandboxSpec } from '../runtime/sandboxes.ts';
import { pod, ENGINE } from '../testing/pods.ts';
import { startNode } from '../testing/start-node.ts';
import { startSandbox, runtimeHandler } from './start-sandbox.ts';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';

const { signal } = new AbortController();

/** Starts a node whose runtime refuses the first `refused` addresses. Notes the requests. */
async function nodeThatRefuses(refused: number) {
  const specs: SandboxSpec[] = [];
  const wrap = (hollow: Runtime): Runtime => ({
    ...hollow,
    images: hollow.images,
    sandboxes: {
      ...hollow.sandboxes,
      createSandbox: async (spec, abort, created) => {
        specs.push(spec);
        if (specs.length <= refused) throw new AgentError('AddressInUse', 'in use');
        return hollow.sandboxes.createSandbox(spec, abort, created);
      },
    },
  });
  return { node: await startNode({ wrap }), specs };
}

it.each<readonly [string, Partial<PodSpec>, string]>([
  ['of the cluster', {}, 'network'],
  ['of its own', { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.1.1.1'] } }, 'network'],
  ['of the node', { dnsPolicy: 'Default' }, 'engine'],
  ['of the node, and more', { dnsPolicy: 'Default', dnsConfig: { nameservers: ['1.1.1.1'] } }, 'engine'],
  ['of the engine by its address', { dnsPolicy: 'None', dnsConfig: { nameservers: ['127.0.0.11'] } }, 'engine'],
])('a pod with the resolver %s', async (_, spec, nameServer) => {
  const { node, specs } = await nodeThatRefuses(0);
  await startSandbox(pod(spec), 0, node.services, signal, () => undefined);
  expect(specs).toMatchObject([{ network: { kind: 'pod', nameServer } }]);
});

it('an address that is in use is followed by another one', async () => {
  const { node, specs } = await nodeThatRefuses(2);
  await startSandbox(pod(), 0, node.services, signal, () => undefined);
  const addresses = specs.map(({ network }) => (network.kind === 'pod' ? network.address : ''));
  expect(new Set(addresses).size).toBe(3);
});

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
