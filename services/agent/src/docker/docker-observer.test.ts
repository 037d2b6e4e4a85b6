import { PassThrough } from 'node:stream';
import { ManualClock } from '@gantry/base/testing';
import Docker from 'dockerode';
import { expect, it } from 'vitest';
import { LABEL } from '../runtime/labels.ts';
import { groupReader } from './cgroup-stats.ts';
import { DockerObserver } from './docker-observer.ts';
import { EngineCalls } from './engine-calls.ts';
import { Inspections } from './inspections.ts';
import { groupParent } from './options/pod-group-name.ts';
import { ContainerIndex, type KnownContainers } from './container-index.ts';
import { PodGroups } from './pod-groups.ts';
import { PodLinks } from './pod-links.ts';

const { signal } = new AbortController();
const ID = 'f'.repeat(64);
const LABELS = { [LABEL.cluster]: 'c', [LABEL.node]: 'node-a', [LABEL.podUid]: 'uid-1', [LABEL.containerName]: 'main' };
/** The container as engine 20.10 shows it if the engine learned of its end before the kernel's kill. */
const ENDED = {
  Id: ID,
  Created: '2026-01-01T00:00:00Z',
  Image: 'sha256:1',
  Config: { Image: 'busybox', Labels: LABELS },
  State: { Status: 'exited', ExitCode: 137, Error: '', OOMKilled: false },
  HostConfig: { NetworkMode: 'none' },
  NetworkSettings: { Networks: {} },
};

function knownOf(calls: EngineCalls): KnownContainers {
  return { inspections: new Inspections(calls), containers: new ContainerIndex() };
}

/** A sandbox in its pod's group, and a container of another pod that is the only one in its pod's group. */
const groupOf = (uid: string) => groupParent({ owner: { cluster: 'c', node: 'node-a' }, uid });
const inspection = (Id: string, uid: string, name: string, CgroupParent: string) => ({
  ...ENDED,
  Id,
  Config: { Image: 'busybox', Labels: { ...LABELS, [LABEL.podUid]: uid, [LABEL.containerName]: name } },
  State: { ...ENDED.State, Status: 'running', Running: true },
  HostConfig: { NetworkMode: 'host', CgroupParent },
});

it('the group of a pod is that of its running sandbox', async () => {
  const docker = new Docker({ socketPath: '/nonexistent' });
  const all = [
    inspection('a'.repeat(64), 'uid-1', 'POD', groupOf('uid-1')),
    inspection('b'.repeat(64), 'uid-2', 'POD', ''),
    inspection('c'.repeat(64), 'uid-2', 'main', groupOf('uid-2')),
  ];
  docker.modem.dial = ({ path }, callback) => {
    const [, id] = /containers\/([a-c]+)\/json/.exec(path) ?? [];
    callback?.(
      null,
      id === undefined ? all.map(({ Id }) => ({ Id, State: 'running' })) : (all.find(({ Id }) => Id === id) ?? null),
    );
  };
  const calls = new EngineCalls(docker, new ManualClock());
  const group = { limits: {}, precision: { cpuShares: 1, memoryBytes: 1 } };
  const links = new PodLinks(calls, groupReader('/nonexistent'));
  const observer = new DockerObserver(calls, knownOf(calls), links, { find: async () => group });
  const pods = await observer.listPods({ cluster: 'c' }, signal);
  expect(pods.map((pod) => [pod.identity.uid, pod.sandboxes[0]?.group, pod.group])).toEqual([
    ['uid-1', 'pod', group],
    ['uid-2', 'engine', undefined],
  ]);
});

it.each([
  ['this run of the machine', 'now', { restartDelayMs: 40_000 }],
  ['an earlier run of the machine', 'before', { restartDelayMs: 0, age: 'before-restart' }],
  ['an agent that labelled none', undefined, { restartDelayMs: 40_000 }],
])('a container of %s', async (_, machineStart, wanted) => {
  const docker = new Docker({ socketPath: '/nonexistent' });
  const label = machineStart === undefined ? {} : { [LABEL.machineStart]: machineStart };
  const labels = { ...LABELS, [LABEL.restartDelayMs]: '40000', ...label };
  const ended = { ...ENDED, Config: { ...ENDED.Config, Labels: labels } };
  docker.modem.dial = ({ path }, callback) =>
    callback?.(null, path.includes(ID) ? ended : [{ Id: ID, State: 'exited', Labels: labels }]);
  const calls = new EngineCalls(docker, new ManualClock());
  const links = new PodLinks(calls, groupReader('/nonexistent'));
  const observer = new DockerObserver(calls, knownOf(calls), links, new PodGroups('/nonexistent'), 'now');
  const [pod] = await observer.listPods({ cluster: 'c' }, signal);
  const [{ restartDelayMs, age } = { restartDelayMs: -1 }] = pod?.containers ?? [];
  expect({ restartDelayMs, ...(age === undefined ? {} : { age }) }).toEqual(wanted);
});

/** Observes an engine with one ended container. `emit` sends an event of the engine and resolves with the next observed event. */
async function observeEnded() {
  const docker = new Docker({ socketPath: '/nonexistent' });
  const stream = new PassThrough();
  const responses = new Map<string, object>([
    ['/events', stream],
    ['/containers/json', [{ Id: ID, State: 'exited', Labels: LABELS }]],
    [`/containers/${ID}/json`, ENDED],
  ]);
  const asked: string[] = [];
  let held: Promise<void> | undefined;
  docker.modem.dial = ({ path }, callback) => {
    const [address = ''] = path.split('?');
    asked.push(address);
    const answer = () => callback?.(null, responses.get(address) ?? null);
    if (held === undefined || !address.includes(ID)) answer();
    else void held.then(answer);
    if (address.includes(ID)) held = undefined;
  };
  const calls = new EngineCalls(docker, new ManualClock());
  const links = new PodLinks(calls, groupReader('/nonexistent'));
  const observer = new DockerObserver(calls, knownOf(calls), links, new PodGroups('/nonexistent'));
  const events = observer.watch('c', signal)[Symbol.asyncIterator]();
  expect((await events.next()).value).toBe('connected');
  return {
    emit: async (...actions: string[]) => {
      for (const Action of actions) stream.write(`${JSON.stringify({ Action, Actor: { ID, Attributes: LABELS } })}\n`);
      return (await events.next()).value as unknown;
    },
    endedBy: async () => (await observer.listPods({ cluster: 'c' }, signal))[0]?.containers[0]?.endedBy,
    /** Lists the container's node, or one pod of it. */
    list: async (podUid?: string) => {
      asked.length = 0;
      const filter = { cluster: 'c', node: 'node-a', ...(podUid === undefined ? {} : { podUid }) };
      const pods = await observer.listPods(filter, signal);
      return { ids: pods.flatMap(({ containers }) => containers.map(({ id }) => id)), asked: [...asked] };
    },
    /** The next inspection gets no answer until the returned function is called. */
    hang: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    close: async () => {
      stream.end();
      return (await events.next()).done;
    },
  };
}

it('a container was killed for its memory, though the engine says so only by an event after its end', async () => {
  const { emit, endedBy } = await observeEnded();
  expect(await emit('die')).toMatchObject({ podUid: 'uid-1', what: 'ended' });
  expect(await endedBy()).toBeUndefined();
  expect(await emit('oom')).toMatchObject({ podUid: 'uid-1', what: 'outOfMemory' });
  expect(await endedBy()).toBe('oom');
});

it('a container that runs out of memory again and again is reported once', async () => {
  const { emit } = await observeEnded();
  expect(await emit('oom')).toMatchObject({ what: 'outOfMemory' });
  expect(await emit('oom', 'oom', 'die')).toMatchObject({ what: 'ended' });
});

it('what is known of a container is forgotten with it', async () => {
  const { emit, endedBy } = await observeEnded();
  await emit('oom');
  await emit('destroy');
  expect(await endedBy()).toBeUndefined();
});

it('pods are listed until a list of their node was answered whole: its caller may read no events before', async () => {
  const { list, hang } = await observeEnded();
  const answer = hang();
  const whole = list();
  await new Promise(setImmediate);
  expect((await list('uid-1')).asked).toContain('/containers/json');
  answer();
  await whole;
  expect((await list('uid-1')).asked).toEqual([]);
});

it('pods of a node that was listed are found without a list, until the events end', async () => {
  const { list, emit, close } = await observeEnded();
  expect((await list('uid-1')).asked).toContain('/containers/json');
  expect(await list()).toMatchObject({ ids: [ID] });
  expect(await list('uid-1')).toEqual({ ids: [ID], asked: [] });
  expect(await list('uid-2')).toEqual({ ids: [], asked: [] });
  await emit('start');
  expect(await list('uid-1')).toEqual({ ids: [ID], asked: [`/containers/${ID}/json`] });
  await emit('destroy');
  expect(await list('uid-1')).toEqual({ ids: [], asked: [] });
  await emit('create', 'start');
  expect((await list('uid-1')).ids).toEqual([ID]);
  expect(await close()).toBe(true);
  expect((await list('uid-1')).asked).toContain('/containers/json');
});
