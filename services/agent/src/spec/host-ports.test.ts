import type { ContainerPort, Pod, PodSpec, PodStatus } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { hostPortRejection } from './host-ports.ts';

const EARLY = '2026-01-01T00:00:00Z';
const LATE = '2026-01-01T00:00:01Z';

interface Side {
  readonly port?: Partial<ContainerPort>;
  readonly spec?: Partial<PodSpec>;
  readonly status?: PodStatus;
  readonly created?: string;
  readonly uid?: string;
}

function podOf({ port = {}, spec, status, created = EARLY, uid = 'uid-2' }: Side): Pod {
  const ports = [{ containerPort: 80, hostPort: 8080, ...port }];
  return pod({ containers: [container('main', { ports })], ...spec }, status, { uid, creationTimestamp: created });
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
const STARTED = { phase: 'Running', startTime: LATE };

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
  { name: 'a pod that has succeeded', other: { status: { ...STARTED, phase: 'Succeeded' } }, rejected: false },
  { name: 'a pod that has failed', other: { status: { ...STARTED, phase: 'Failed' } }, rejected: false },
  {
    name: 'a younger pod that has started',
    other: { created: LATE, status: STARTED },
    own: { created: EARLY },
    rejected: true,
  },
  { name: 'a younger pod that has not', other: { created: LATE }, own: { created: EARLY }, rejected: false },
  {
    name: 'a pod of the same second with a greater uid',
    other: { uid: 'uid-9' },
    own: { created: EARLY },
    rejected: false,
  },
  { name: 'itself', other: { uid: 'uid-5', status: STARTED }, rejected: false },
])('$name: rejected $rejected', ({ other, own = {}, rejected }) => {
  const result = hostPortRejection(podOf({ created: LATE, uid: 'uid-5', ...own }), [podOf(other)]);
  expect(result !== undefined).toBe(rejected);
});

it("the reason and the message are the kubelet's", () => {
  expect(hostPortRejection(podOf({ created: LATE, uid: 'uid-5' }), [podOf({})])).toEqual({
    reason: 'NodePorts',
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  });
});
