import type { PodSpec } from '@gantry/objects';
import { expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SandboxSpec } from '../runtime/sandboxes.ts';
import { pod } from '../testing/pods.ts';
import { startNode } from '../testing/start-node.ts';
import { startSandbox } from './start-sandbox.ts';

const { signal } = new AbortController();

/** A node whose runtime refuses the first `refused` addresses; and what it was asked for. */
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
