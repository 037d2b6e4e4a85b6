import { type ContainerStatus, type Pod, PODS, type PodStatus } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import { silentLogger, createMetrics } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PodSource } from '../sources/pod-source.ts';
import { terminationCounter } from '../meters.ts';
import { StatusReporter } from './status-reporter.ts';

const pod = (status?: PodStatus): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'a' },
  ...(status === undefined ? {} : { status }),
});
const container = (name: string, state: ContainerStatus['state']) => ({ name, state }) as ContainerStatus;
const ended = (name: string, exitCode: number, reason: string) => container(name, { terminated: { exitCode, reason } });
const running = (name: string) => container(name, { running: {} });
const KEY = { namespace: 'a', name: 'p' };
const GATE = { type: 'example.org/gate', status: 'True' };
const READY = { type: 'Ready', status: 'True' };
const containerStatus = (state: ContainerStatus['state']): ContainerStatus => ({
  ...{ name: 'main', ready: false, restartCount: 0, image: 'a', imageID: '', lastState: {} },
  state,
});

describe('status reports with concurrent writes of other clients', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let stop: AbortController;
  let overtake: () => Promise<void>;
  let reporter: StatusReporter;
  let uid: string;
  let written: (readonly [PodStatus['phase'], PodStatus['phase']])[];
  beforeEach(async () => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    stop = new AbortController();
    overtake = async () => undefined;
    const pods = new PodSource({ client: server, node: 'n', clock, random: () => 0.5, logger: silentLogger });
    const client = createOvertakenClient(server, () => overtake());
    written = [];
    const onWritten = (before: Pod, after: Pod) => written.push([before.status?.phase, after.status?.phase]);
    reporter = new StatusReporter({ client, pods, clock, logger: silentLogger, onWritten });
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: KEY,
      status: { phase: 'Pending', qosClass: 'Burstable' },
    };
    uid = (await server.put(PODS, pod)).metadata.uid ?? '';
    void pods.run(stop.signal);
    void reporter.run(stop.signal);
    await clock.advance(100);
  });
  afterEach(() => stop.abort());

  const current = () => server.all(PODS)[0];
  const writeAsOther = async (status: PodStatus) => {
    const object = { ...current(), status: { ...current()?.status, ...status } } as Pod;
    await server.updateStatus(PODS, object, stop.signal);
  };
  const reportRunning = () =>
    reporter.report(uid, { phase: 'Running', qosClass: 'Burstable', podIP: '10.0.0.9', conditions: [READY] });

  it('tell once what was written onto what, and nothing of what was rejected', async () => {
    reportRunning();
    await writeAsOther({ conditions: [GATE] });
    await clock.advance(100);
    reportRunning();
    await clock.advance(100);
    expect(written).toEqual([['Pending', 'Running']]);
  });

  it('keep fields that other clients wrote since the pod was read', async () => {
    reportRunning();
    await writeAsOther({ conditions: [GATE], nominatedNodeName: 'm' });
    await clock.advance(100);
    expect(current()?.status).toEqual({
      phase: 'Running',
      qosClass: 'Burstable',
      podIP: '10.0.0.9',
      nominatedNodeName: 'm',
      conditions: [READY, GATE],
    });
  });

  it('are written after a Conflict without a new report', async () => {
    overtake = async () => {
      overtake = async () => undefined;
      await writeAsOther({ conditions: [GATE] });
    };
    reportRunning();
    await clock.advance(100);
    expect(current()?.status).toMatchObject({ phase: 'Running', conditions: [READY, GATE] });
  });

  it('wait a second while a pod begins to start, and are written with what follows', async () => {
    const starting = (startTime: string, more: PodStatus = {}): PodStatus => ({
      ...{ phase: 'Pending', qosClass: 'Burstable', startTime, ...more },
      containerStatuses: [containerStatus({ waiting: { reason: 'ContainerCreating' } })],
    });
    reporter.report(uid, starting('2026-01-01T00:00:00Z'));
    await clock.advance(600);
    reporter.report(uid, starting('2026-01-01T00:00:01Z', { podIP: '10.0.0.9' }));
    expect(written).toEqual([]);
    await clock.advance(500);
    expect(current()?.status).toMatchObject({ podIP: '10.0.0.9', startTime: '2026-01-01T00:00:00Z' });
    reporter.report(uid, starting('2026-01-01T00:00:02Z', { podIP: '10.0.0.9', observedGeneration: 2 }));
    reportRunning();
    await clock.advance(100);
    expect(written).toEqual([
      ['Pending', 'Pending'],
      ['Pending', 'Running'],
    ]);
  });

  it('keep when the pod was seen and when a condition became what it is, of which an older pod does not know', async () => {
    const [before, now] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:07Z'];
    await writeAsOther({ startTime: before, conditions: [{ ...READY, lastTransitionTime: before }] });
    const [scheduled, initialized] = ['PodScheduled', 'Initialized'].map((type) => ({ type, status: 'True' }));
    reporter.report(uid, {
      ...{ phase: 'Running', qosClass: 'Burstable', startTime: now },
      conditions: [READY, initialized, scheduled].map((condition) => ({
        ...{ type: '', status: '', ...condition },
        lastTransitionTime: now,
      })),
    });
    await clock.advance(100);
    expect(current()?.status).toMatchObject({
      startTime: before,
      conditions: [{ lastTransitionTime: before }, { lastTransitionTime: now }, { lastTransitionTime: now }],
    });
  });

  it('do not revive a pod that has ended', async () => {
    reportRunning();
    await writeAsOther({ phase: 'Failed', reason: 'Evicted' });
    await clock.advance(100);
    expect(current()?.status).toEqual({ phase: 'Failed', reason: 'Evicted', qosClass: 'Burstable' });
  });
});

async function counted(writes: readonly (readonly [Pod, Pod])[]): Promise<readonly string[]> {
  const metrics = createMetrics('part');
  const count = terminationCounter(metrics);
  for (const [before, after] of writes) count(before, after);
  return (await metrics.render()).text
    .split('\n')
    .filter((line) => line.startsWith('kubelet_terminated_containers_total{'));
}

it('counts a container that has terminated, also one that no status had named', async () => {
  const lines = await counted([
    [pod(), pod({ containerStatuses: [ended('one', 139, 'Error')] })],
    [
      pod({ containerStatuses: [running('two')] }),
      pod({ containerStatuses: [ended('one', 139, 'Error'), ended('two', 0, 'Completed')] }),
    ],
  ]);
  expect(lines).toEqual([
    'kubelet_terminated_containers_total{container_type="container",exit_code="139",reason="Error"} 2',
    'kubelet_terminated_containers_total{container_type="container",exit_code="0",reason="Completed"} 1',
  ]);
});

it('counts a termination once, and nothing that runs', async () => {
  const status = { containerStatuses: [ended('one', 1, 'Error'), running('two')] };
  expect(await counted([[pod(status), pod({ ...status, phase: 'Failed' })]])).toEqual([]);
});

it('tells init and ephemeral containers apart', async () => {
  const after = {
    initContainerStatuses: [ended('i', 0, 'Completed')],
    ephemeralContainerStatuses: [ended('e', 1, 'Error')],
  };
  expect(await counted([[pod({}), pod(after)]])).toEqual([
    'kubelet_terminated_containers_total{container_type="init_container",exit_code="0",reason="Completed"} 1',
    'kubelet_terminated_containers_total{container_type="ephemeral_container",exit_code="1",reason="Error"} 1',
  ]);
});
