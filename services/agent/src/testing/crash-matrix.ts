import { join } from 'node:path';
import { type Random, seededRandom } from '@gantry/base';
import { type Container, type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { namesIn } from '../files/if-there.ts';
import type { PodState } from '../runtime/observer.ts';
import type { AssembledNode } from './assemble-node.ts';
import { MortalCalls } from './mortal-agent.ts';
import { container, pod } from './pods.ts';

/** An engine with nodes whose agents are killed. */
export interface CrashWorld<Node extends AssembledNode = AssembledNode> {
  /** Starts the agent of a new node. It dies as its calls decide. */
  readonly start: (node: string, calls: MortalCalls) => Promise<Node>;
  /** Starts the agent again, like Docker after a kill. */
  readonly restart: (dead: Node) => Promise<Node>;
  /** Polls a reading. */
  readonly soon: (node: Node, read: () => unknown) => ReturnType<typeof expect.poll>;
  /** Returns the pod's state in the engine without any earlier knowledge. */
  readonly look: (node: Node) => Promise<PodState | undefined>;
  /** Returns everything that the node has left on its host, without using the agent. */
  readonly traces: (node: Node) => Promise<readonly string[]>;
  /** Returns a folder of its host in the form for a pod. It is removed at the end of the test. */
  readonly hostFolder: (node: Node) => string;
  /** An image with a shell. */
  readonly image: string;
  /** How many lives run at once. */
  readonly parallel: number;
}

const NAMES = ['setup', 'side', 'a', 'b'];
const RUNS = {
  sandboxes: ['running'],
  containers: ['a 0 running', 'b 0 running', 'setup 0 exited', 'side 0 running'],
  images: 1,
  phase: 'Running',
  restarts: NAMES.map((name) => [name, 0, true]),
  folders: ['uid-1'],
};

/** The calls after which agents are killed: every call, or this number of calls of different kinds, which the seed chooses. */
export type CrashShare = 'all' | { readonly seed: number; readonly lives: number };

/**
 * Runs a pod's whole life, from its creation to its end, once for each call of its agent. The agent is killed after that call. Whenever
 * that was, its successor brings the pod to the same state: each container exists once and was started once, and in the end nothing is
 * left.
 */
export function describeCrashMatrix<Node extends AssembledNode>(
  name: string,
  make: () => Promise<CrashWorld<Node>>,
  share: CrashShare = 'all',
): void {
  const which = share === 'all' ? 'any call' : 'some calls, by a seed,';
  it(`an agent that is killed after ${which} of a pod's life leaves nothing that its successor does not finish: ${name}`, async () => {
    const world = await make();
    const { made } = await live(world, 'undisturbed', new MortalCalls());
    expect(made.length).toBeGreaterThan(30);
    const chosen = share === 'all' ? made : chooseCalls(made, share.lives, seededRandom(share.seed));
    const { deaths, failures } = await liveWith(world, chosen);
    expect(failures).toEqual([]);
    // How often a state is read depends on the time of its changes. So each kind of call must have been the last one at least once.
    if (share === 'all') expect([...deaths].sort()).toEqual([...new Set(made.map(kindOf))].sort());
    else expect(deaths.size).toBeGreaterThan(share.lives / 2);
  }, 1_200_000);
}

/** Chooses `count` calls of different kinds. */
export function chooseCalls(made: readonly string[], count: number, random: Random): readonly string[] {
  const take = (from: string[]) => from.splice(Math.floor(random() * from.length), 1)[0] ?? '';
  const kinds = [...new Set(made.map(kindOf))];
  const chosen = Array.from({ length: Math.min(count, kinds.length) }, () => take(kinds));
  return chosen.map((kind) => take(made.filter((call) => kindOf(call) === kind)));
}

/** Runs one life for each call. Returns the kinds of the last calls, and the failures. */
async function liveWith<Node extends AssembledNode>(world: CrashWorld<Node>, chosen: readonly string[]) {
  const deaths = new Set<string>();
  const failures: string[] = [];
  const left = [...chosen.entries()];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, call] = next;
      const calls = new MortalCalls();
      calls.dieAfter(call);
      try {
        await live(world, `life-${index}`, calls);
      } catch (error) {
        failures.push(`${call}: ${String(error)}`);
      }
      if (calls.death.signal.aborted) deaths.add(kindOf(call));
    }
  };
  await Promise.all(Array.from({ length: world.parallel }, work));
  return { deaths, failures };
}

/** Returns the name of a call without its number. */
function kindOf(call: string): string {
  return call.replace(/ #\d+$/, '');
}

/** Runs one life of the pod on its own node, and checks the result. */
async function live<Node extends AssembledNode>(
  world: CrashWorld<Node>,
  name: string,
  calls: MortalCalls,
): Promise<MortalCalls> {
  const { signal: death } = calls.death;
  let node = await world.start(name, calls);
  // An engine allows each name only once.
  const podName = node.owner.cluster;
  let agent: 'first' | 'second' = 'first';
  const isDead = () => agent === 'first' && death.aborted;
  const reach = async (reached: () => Promise<boolean>) => {
    await world.soon(node, async () => isDead() || (await reached())).toBe(true);
    if (!isDead()) return;
    await node.end();
    node = await world.restart(node);
    await node.volumes.prepare();
    agent = 'second';
    await world.soon(node, () => node.pods.get('uid-1')).toBeDefined();
    node.work('uid-1');
  };
  await node.volumes.prepare();
  await node.put(podOf(podName, world.image, world.hostFolder(node)));
  await world.soon(node, () => node.pods.get('uid-1')).toBeDefined();
  calls.begin();
  node.work('uid-1', death);
  // The engine is asked last, after everything else is reached. Many lives that ask it repeatedly would keep it busy.
  const isRunning = async () =>
    statusOf(node)?.phase === 'Running' && JSON.stringify(await remains(world, node)) === JSON.stringify(RUNS);
  await reach(isRunning);
  await world.soon(node, () => remains(world, node)).toEqual(RUNS);
  await node.client.delete(PODS, { namespace: 'default', name: podName }, {}, new AbortController().signal);
  const isGone = async () => {
    if ((await foldersOf(node)).length > 0) return false;
    const { sandboxes, containers, images } = await remains(world, node);
    return sandboxes.length + containers.length + images === 0;
  };
  await reach(isGone);
  await world.soon(node, isGone).toBe(true);
  const { restarts } = await remains(world, node);
  expect(restarts.map(([one, count]) => [one, count])).toEqual(NAMES.map((one) => [one, 0]));
  await world.soon(node, () => world.traces(node)).toEqual([]);
  await node.end();
  return calls;
}

/** Returns everything that a life leaves in the engine, in the API and on the disk. */
async function remains<Node extends AssembledNode>(world: CrashWorld<Node>, node: Node) {
  const state = await world.look(node);
  const status = statusOf(node);
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return {
    sandboxes: (state?.sandboxes ?? []).map((sandbox) => sandbox.state),
    containers: (state?.containers ?? []).map((one) => `${one.name} ${one.attempt} ${one.state}`).sort(),
    images: state?.imageHolds.length ?? 0,
    phase: status?.phase,
    restarts: statuses.map(({ name, restartCount, ready }) => [name, restartCount, ready]),
    folders: await foldersOf(node),
  };
}

function statusOf({ client }: AssembledNode): Pod['status'] {
  return client.all(PODS)[0]?.status;
}

/** Returns the folders of pods. There are none before the first pod. */
async function foldersOf({ path }: AssembledNode): Promise<readonly string[]> {
  return await namesIn(join(path, 'pods'));
}

/** Returns a pod with a container of each kind, hooks, and volumes with mounts. The finalizer keeps its object. */
function podOf(name: string, image: string, hostFolder: string): Pod {
  const hook = { exec: { command: ['true'] } };
  const runs = (one: string, change: Partial<Container> = {}) =>
    container(one, { image, command: ['sh', '-c', 'trap "exit 0" TERM; sleep 3600 & wait'], ...change });
  return pod(
    {
      terminationGracePeriodSeconds: 5,
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'files', image: { reference: image } },
        { name: 'host', hostPath: { path: hostFolder, type: 'DirectoryOrCreate' } },
      ],
      initContainers: [runs('setup', { command: ['true'] }), runs('side', { restartPolicy: 'Always' })],
      containers: [
        runs('a', {
          lifecycle: { postStart: hook, preStop: hook },
          volumeMounts: [
            { name: 'v', mountPath: '/v', subPath: 'part' },
            { name: 'memory', mountPath: '/memory' },
            { name: 'files', mountPath: '/files' },
            { name: 'host', mountPath: '/host', subPath: 'part' },
          ],
        }),
        // Its groups are read from the image.
        runs('b', { securityContext: { runAsUser: 0, runAsGroup: 0 } }),
      ],
    },
    {},
    { name, finalizers: ['example.com/keep'] },
  );
}
