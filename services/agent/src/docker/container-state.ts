import type Docker from 'dockerode';
import type { Instant } from '@gantry/base';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import { processUserOf } from './options/identity.ts';
import { groupParent, isGroupUid } from './options/pod-group-name.ts';
import { resourcesOf } from './options/resources.ts';
import type { RunState, SandboxState } from '../runtime/sandboxes.ts';
import { IMAGE_HOLD_NAME, LABEL, SANDBOX_NAME } from '../runtime/labels.ts';

/** Parses a time of the engine, which uses year 1 for "never". */
function instant(text: string | undefined): Instant | undefined {
  if (text === undefined || text === '' || text.startsWith('0001-')) return undefined;
  return Date.parse(text);
}

function runState(state: Docker.ContainerInspectInfo['State']): RunState {
  if (state.Running || state.Paused || state.Restarting) return 'running';
  return state.Status === 'created' ? 'created' : 'exited';
}

function activityOf({ Paused: paused }: Docker.ContainerInspectInfo['State']): Pick<ContainerState, 'activity'> {
  return paused ? { activity: 'paused' } : {};
}

/** Facts about containers that inspections do not contain. */
export interface ContainerFacts {
  /** Containers that are not connected to their network. */
  readonly unconnected: ReadonlySet<Docker.ContainerInspectInfo>;
  /** Ids of containers in which the kernel killed a process because of its memory limit. */
  readonly outOfMemory: ReadonlySet<string>;
  /** The current run of the machine; '' where it is not known. */
  readonly machineStart: string;
}

/** Groups the inspected containers of a cluster by pod, newest attempts first. Containers without a pod are omitted. */
export function podStates(
  inspected: readonly Docker.ContainerInspectInfo[],
  { unconnected, outOfMemory, machineStart }: ContainerFacts,
): readonly PodState[] {
  const pods = new Map<
    string,
    {
      state: Omit<PodState, 'sandboxes' | 'containers' | 'imageHolds'>;
      sandboxes: SandboxState[];
      containers: ContainerState[];
      imageHolds: string[];
    }
  >();
  for (const container of inspected) {
    const labels = container.Config.Labels;
    const uid = labels[LABEL.podUid];
    if (uid === undefined || uid === '') continue;
    const key = `${labels[LABEL.node] ?? ''}/${uid}`;
    let pod = pods.get(key);
    if (pod === undefined) {
      pod = {
        state: {
          owner: { cluster: labels[LABEL.cluster] ?? '', node: labels[LABEL.node] ?? '' },
          identity: { uid, namespace: labels[LABEL.podNamespace] ?? '', name: labels[LABEL.podName] ?? '' },
          graceSeconds: Number(labels[LABEL.graceSeconds] ?? '30'),
          ...(labels[LABEL.instances] === 'at-most-one' ? { instances: 'at-most-one' } : {}),
        },
        sandboxes: [],
        containers: [],
        imageHolds: [],
      };
      pods.set(key, pod);
    }
    if (labels[LABEL.containerName] === SANDBOX_NAME)
      pod.sandboxes.push(sandboxState(container, pod.state, unconnected.has(container)));
    else if (labels[LABEL.containerName] === IMAGE_HOLD_NAME) pod.imageHolds.push(container.Id);
    else
      pod.containers.push(
        containerState(container, labels, { isOutOfMemory: outOfMemory.has(container.Id), machineStart }),
      );
  }
  return [...pods.values()].map(({ state, sandboxes, containers, imageHolds }) => ({
    ...state,
    sandboxes: sandboxes.sort((a, b) => b.attempt - a.attempt),
    containers: containers.sort((a, b) => b.attempt - a.attempt),
    imageHolds,
  }));
}

function sandboxState(
  container: Docker.ContainerInspectInfo,
  { owner, identity: { uid } }: Pick<PodState, 'owner' | 'identity'>,
  isUnconnected: boolean,
): SandboxState {
  const labels = container.Config.Labels;
  const isInGroup = isGroupUid(uid) && container.HostConfig.CgroupParent === groupParent({ owner, uid });
  const run = runState(container.State);
  const state = run === 'running' && isUnconnected ? 'created' : run;
  const assigned = Object.values(container.NetworkSettings.Networks).map((network) => network.IPAddress);
  const addresses = state === 'running' ? [labels[LABEL.address] ?? '', ...assigned] : [];
  return {
    id: container.Id,
    attempt: Number(labels[LABEL.restartCount] ?? '0'),
    state,
    ...activityOf(container.State),
    group: isInGroup ? 'pod' : 'engine',
    createdAt: instant(container.Created) ?? 0,
    ...(state === 'exited' ? { finishedAt: instant(container.State.FinishedAt) ?? 0 } : {}),
    address: addresses.find((address) => address !== '') ?? '',
  };
}

function containerState(
  container: Docker.ContainerInspectInfo,
  labels: Record<string, string>,
  { isOutOfMemory, machineStart }: { readonly isOutOfMemory: boolean; readonly machineStart: string },
): ContainerState {
  const { State: state } = container;
  const createdAt = instant(container.Created) ?? 0;
  const startedAt = instant(state.StartedAt);
  const finishedAt = instant(state.FinishedAt);
  const run = runState(state);
  // A failed start leaves the container 'created' with an error. For the pod, this attempt has ended.
  const failedStart = run === 'created' && state.Error !== '';
  const message = labels[LABEL.terminationMessage];
  const startedWith = labels[LABEL.machineStart] ?? '';
  const isBeforeRestart = startedWith !== '' && machineStart !== '' && startedWith !== machineStart;
  const processUser = processUserOf(labels);
  return {
    id: container.Id,
    name: labels[LABEL.containerName] ?? '',
    attempt: Number(labels[LABEL.restartCount] ?? '0'),
    sandboxId: labels[LABEL.sandboxId] ?? '',
    hash: labels[LABEL.containerHash] ?? '',
    image: container.Config.Image,
    imageId: container.Image,
    state: failedStart ? 'exited' : run,
    ...activityOf(state),
    createdAt,
    startedAt,
    ...(run === 'exited' ? { finishedAt: finishedAt ?? createdAt, exitCode: state.ExitCode } : {}),
    ...(failedStart ? { finishedAt: createdAt, exitCode: 128, error: state.Error } : {}),
    ...(state.OOMKilled || isOutOfMemory ? { endedBy: 'oom' as const } : {}),
    ...(isBeforeRestart ? { age: 'before-restart' as const } : {}),
    restartDelayMs: isBeforeRestart ? 0 : Number(labels[LABEL.restartDelayMs] ?? '0'),
    resources: resourcesOf(container.HostConfig),
    terminationMessagePath: message || undefined,
    processUser,
  };
}
