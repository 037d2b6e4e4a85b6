import type { ContainerPort, Pod, PodSpec } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { hostPortRejection } from './host-ports.ts';

interface Side {
  readonly port?: Partial<ContainerPort>;
  readonly spec?: Partial<PodSpec>;
}

function podOf({ port = {}, spec }: Side): Pod {
  const ports = [{ containerPort: 80, hostPort: 8080, ...port }];
  return pod({ containers: [container('main', { ports })], ...spec });
}

const init = (restartPolicy: string | undefined) => ({
  containers: [container()],
  initContainers: [
    container('init', {
      ports: [{ containerPort: 80, hostPort: 8080 }],
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
    }),
  ],
});

it.each<{ readonly name: string; readonly other: Side; readonly own?: Side; readonly rejected: boolean }>([
  { name: 'the same port', other: {}, rejected: true },
  { name: 'another port', other: { port: { hostPort: 8081 } }, rejected: false },
  { name: 'no host port', other: { port: { hostPort: 0 } }, rejected: false },
  { name: 'another protocol', other: { port: { protocol: 'UDP' } }, rejected: false },
  { name: 'TCP by name', other: { port: { protocol: 'TCP' } }, rejected: true },
  {
    name: 'different addresses',
    other: { port: { hostIP: '10.0.0.1' } },
    own: { port: { hostIP: '10.0.0.2' } },
    rejected: false,
  },
  {
    name: 'the same address',
    other: { port: { hostIP: '10.0.0.1' } },
    own: { port: { hostIP: '10.0.0.1' } },
    rejected: true,
  },
  {
    name: 'all addresses and one',
    other: { port: { hostIP: '0.0.0.0' } },
    own: { port: { hostIP: '10.0.0.2' } },
    rejected: true,
  },
  { name: 'one address and all', other: { port: { hostIP: '10.0.0.1' } }, rejected: true },
  { name: 'a sidecar', other: { spec: init('Always') }, rejected: true },
  { name: 'an init container, which ends', other: { spec: init(undefined) }, rejected: false },
])('$name: rejected $rejected', ({ other, own = {}, rejected }) => {
  const result = hostPortRejection(podOf(own), [podOf(other)]);
  expect(result !== undefined).toBe(rejected);
});

it("the reason and the message are the kubelet's", () => {
  expect(hostPortRejection(podOf({}), [podOf({})])).toEqual({
    reason: 'NodePorts',
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  });
});
