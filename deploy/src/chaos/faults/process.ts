import type { ChaosContainer } from '../engine.ts';
import { signalScript } from '../engine.ts';
import type { FaultKind, PlannedFault, Scene } from '../fault.ts';
import { limitOptions } from '../undo.ts';

/** Services without which the others go on, or that have replicas. */
const REPLICATED = [
  'scheduler/leader',
  'scheduler/standby',
  'controller-manager/leader',
  'controller-manager/standby',
  'apiserver/1',
  'apiserver/2',
  // The storage owner.
  'apiserver/leader',
  'agent/1',
  'agent/2',
  // The host's custodian.
  'agent/leader',
  'dns/1',
] as const;
const SINGLE = ['load-balancer/1', 'ingress/1', 'proxy/1'] as const;
const ALL = [...REPLICATED, ...SINGLE];
/** Longer than the longest lease of a leader (8 s), so that a successor leads when the paused one goes on. */
const BEYOND_LEASE_MS = [10_000, 20_000] as const;
const OUTAGE_MS = [3_000, 15_000] as const;

/** Faults of the process of one service. Members of etcd have kinds of their own, which differ in what they may overlap with. */
export const PROCESS_FAULTS: readonly FaultKind[] = [
  {
    kind: 'kill',
    what: 'SIGKILL to the main process; the engine restarts it.',
    targets: ALL,
    durationMs: [0, 0],
    weight: 4,
    strike: (scene) => signalOnce(scene, 'KILL'),
  },
  {
    kind: 'terminate',
    what: 'SIGTERM to the main process; the engine restarts it.',
    targets: ALL,
    durationMs: [0, 0],
    weight: 2,
    strike: (scene) => signalOnce(scene, 'TERM'),
  },
  {
    kind: 'down',
    what: 'SIGKILL, and the container stays down until the fault ends.',
    targets: ALL,
    durationMs: OUTAGE_MS,
    weight: 2,
    strike: takeDown,
  },
  {
    kind: 'pause',
    what: 'All processes of a container are frozen for longer than the lease of a leader.',
    targets: ALL,
    durationMs: BEYOND_LEASE_MS,
    weight: 4,
    strike: freeze,
  },
  {
    kind: 'restart-loop',
    what: 'The main process is killed about once a second.',
    targets: ALL,
    durationMs: [5_000, 15_000],
    weight: 1,
    strike: (scene) => killAgainAndAgain(scene),
  },
  {
    kind: 'stall',
    what: 'The process stands still for most of each second (SIGSTOP and SIGCONT), as with a blocked event loop.',
    targets: ALL,
    durationMs: [8_000, 20_000],
    weight: 1,
    strike: (scene) => stall(scene),
  },
  {
    kind: 'cpu-shortage',
    what: 'The container gets 5 % of a processor.',
    targets: ALL,
    durationMs: [10_000, 20_000],
    weight: 1,
    strike: takeProcessor,
  },
  {
    kind: 'out-of-memory',
    what: 'The container is given 16 MiB more than it uses, and they are filled: the kernel kills its largest process.',
    targets: REPLICATED,
    durationMs: [3_000, 8_000],
    weight: 1,
    strike: takeMemory,
  },
];

/** Sends a signal to the main process of the target. */
export async function signalOnce({ engine, fault, random }: Scene, signal: 'KILL' | 'TERM'): Promise<string> {
  const container = await engine.one(fault.target, random);
  await engine.signal(container, signal);
  return `SIG${signal} to ${container.name}`;
}

/** Kills a container through the engine, which then does not restart it. */
export async function takeDown({ engine, fault, random, undoLater }: Scene): Promise<string> {
  const container = await engine.one(fault.target, random);
  await undoLater([{ undo: 'start', container: container.id }]);
  await killContainer(engine, container);
  return `${container.name} is down`;
}

/** Kills a container that may end by itself meanwhile. */
export async function killContainer(engine: Scene['engine'], { id, name }: ChaosContainer): Promise<void> {
  const { code, stderr } = await engine.options.shell.run('docker', ['kill', id]);
  if (code !== 0 && !stderr.includes('is not running')) await engine.docker(['kill', name]);
}

/** Pauses a container until the fault is undone. */
export async function freeze({ engine, fault, random, undoLater }: Scene): Promise<string> {
  const container = await engine.one(fault.target, random);
  await undoLater([{ undo: 'unpause', container: container.id }]);
  await engine.pause(container);
  return `${container.name} is paused`;
}

export const helperName = (scene: Scene) => `gantry-chaos-${scene.engine.options.clusterId}-${scene.fault.id}`;
const secondsOf = ({ durationMs }: PlannedFault) => Math.ceil(durationMs / 1000);

async function stall(scene: Scene): Promise<string> {
  const { engine, fault, random, undoLater } = scene;
  const container = await engine.one(fault.target, random);
  await undoLater([
    { undo: 'continue', container: container.id },
    { undo: 'remove-helper', name: helperName(scene) },
  ]);
  const [stop, go] = ['STOP', 'CONT'].map((signal) => signalScript(container, signal));
  const rounds = secondsOf(fault);
  await engine.startHelper(
    helperName(scene),
    `for i in $(seq ${rounds}); do ${stop}; sleep 0.85; ${go}; sleep 0.15; done`,
  );
  return `${container.name} runs for 0.15 s of each second`;
}

/** The engine waits 0.1 s before the first restart and twice as long before each next one, up to a minute, until a run lasted 10 s. */
async function killAgainAndAgain(scene: Scene): Promise<string> {
  const { engine, fault, random, undoLater } = scene;
  const container = await engine.one(fault.target, random);
  // A kill may meet the container while it starts: then the engine gives up, and leaves it exited.
  await undoLater([
    { undo: 'start', container: container.id },
    { undo: 'remove-helper', name: helperName(scene) },
  ]);
  // The process id changes with each start: it is looked up by the control group.
  const find = `grep -ls ${container.id} /proc/[0-9]*/cgroup | cut -d / -f 3`;
  await engine.startHelper(
    helperName(scene),
    `for i in $(seq ${secondsOf(fault)}); do for pid in $(${find}); do kill -KILL $pid; done; sleep 1; done`,
  );
  return `${container.name} is killed each second`;
}

/** Microseconds in each 100 ms. */
const SHORT_QUOTA = 5_000;

async function takeProcessor({ engine, fault, random, undoLater }: Scene): Promise<string> {
  const { id, name, limits } = await engine.one(fault.target, random);
  await undoLater([{ undo: 'limit', container: id, limits }]);
  await engine.docker(['update', ...limitOptions({ ...limits, cpuQuota: SHORT_QUOTA }), id]);
  return `${name} has ${SHORT_QUOTA / 1000} % of a processor`;
}

const LEFT_BYTES = 16 * 2 ** 20;
/** For version 2 of control groups, and for version 1. */
const READ_USAGE = 'cat /sys/fs/cgroup/memory.current 2>/dev/null || cat /sys/fs/cgroup/memory/memory.usage_in_bytes';
/** Keeps a line without end in memory. */
const FILL_MEMORY = ['timeout', '20', 'tail', '/dev/zero'];

async function takeMemory({ engine, fault, random, undoLater }: Scene): Promise<string> {
  const { id, name, limits } = await engine.one(fault.target, random);
  const inUse = Number(await engine.docker(['exec', id, 'sh', '-c', READ_USAGE]));
  // Too little memory may keep the container from starting again: then the engine gives up, and leaves it exited.
  await undoLater([
    { undo: 'start', container: id },
    { undo: 'limit', container: id, limits },
  ]);
  const memoryBytes = inUse + LEFT_BYTES;
  await engine.docker(['update', ...limitOptions({ ...limits, memoryBytes, memorySwapBytes: memoryBytes }), id]);
  // Ends by the kernel's signal, with the container.
  await engine.options.shell.run('docker', ['exec', id, ...FILL_MEMORY]);
  return `${name} has ${Math.round(memoryBytes / 2 ** 20)} MiB`;
}
