import { CONFIG_MAPS, DEPLOYMENTS, type Node, NODES } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { type ExamplePods, startExamplePods } from './harness/example-pods.ts';

const cluster = new Cluster();
const HOME = 'reboot-coordinator';
const PREFIX = 'container-linux-update.v1.coreos.com/';
const CHECKS = { before: 'example.com/may-reboot', after: 'example.com/works' };
const SOON_MS = 60_000;
const ALL_MS = 240_000;

const NAMES = [PREFIX, 'update-agent.gantry.dev/', 'example.com/'];
const keyOf = (name = '') => ({ namespace: '', name });
const annotate = async (node: string, annotations: Readonly<Record<string, string>>): Promise<void> => {
  await cluster.api.patch(NODES, keyOf(node), { merge: { metadata: { annotations } } }, AbortSignal.timeout(SOON_MS));
};
const startOf = async (node: string) =>
  await cluster.docker(['inspect', '-f', '{{.State.StartedAt}}', (await cluster.agentOf(node)).id]);

/** What the labels and annotations of a Node say about its reboot. */
function stateOf({ metadata, spec }: Node) {
  const { annotations = {}, labels = {} } = metadata;
  const is = (name: string) => annotations[PREFIX + name] === 'true';
  const has = (name: string) => labels[PREFIX + name] === 'true';
  const isBusy = is('reboot-ok') || is('reboot-in-progress') || has('before-reboot') || has('after-reboot');
  // The operator gives the slot of a node to the next one as soon as it is rebooted, when its agent may not have uncordoned it yet.
  const isRebooted = annotations[`${PREFIX}reboot-ok`] === 'false' && !isBusy;
  return {
    isBusy,
    isBefore: has('before-reboot') && annotations[CHECKS.before] === undefined,
    isAfter: has('after-reboot') && annotations[CHECKS.after] === undefined,
    isRebooting: is('reboot-in-progress'),
    isRebooted,
    isDone: isRebooted && spec?.unschedulable !== true,
  };
}

/**
 * Does what checks do until all nodes have been rebooted. The leader is killed when the first node is marked, and while the last one reboots.
 * Resolves with the most nodes that were busy at one time, and the killed leaders.
 */
async function followReboots(
  example: ExamplePods,
  count: number,
): Promise<{ readonly most: number; readonly killed: readonly string[] }> {
  const states = new Map<string, ReturnType<typeof stateOf>>();
  const killed: string[] = [];
  let most = 0;
  const deadline = AbortSignal.timeout(ALL_MS);
  for await (const events of cluster.api.watch(NODES, { sendInitialEvents: true }, deadline)) {
    for (const event of events) {
      if (event.type === 'BOOKMARK') continue;
      const { name = '' } = event.object.metadata;
      const state = stateOf(event.object);
      states.set(name, state);
      const all = [...states.values()];
      most = Math.max(most, all.filter(({ isBusy }) => isBusy).length);
      const isLast = all.filter(({ isRebooted }) => isRebooted).length === count - 1;
      if ((killed.length === 0 && state.isBefore) || (killed.length === 1 && isLast && state.isRebooting)) {
        killed.push(await example.killLeader());
      }
      if (state.isBefore) await annotate(name, { [CHECKS.before]: 'true' });
      if (state.isAfter) await annotate(name, { [CHECKS.after]: 'true' });
    }
    if ([...states.values()].filter(({ isDone }) => isDone).length === count) break;
  }
  return { most, killed };
}

/** Removes what the example wrote on the Nodes. */
async function forget(): Promise<void> {
  for (const { metadata } of await cluster.nodes()) {
    const ours = (of: Readonly<Record<string, string>> = {}) =>
      Object.fromEntries(
        Object.keys(of).flatMap((name) => (NAMES.some((one) => name.startsWith(one)) ? [[name, null]] : [])),
      );
    const merge = { metadata: { annotations: ours(metadata.annotations), labels: ours(metadata.labels) } };
    await cluster.api.patch(NODES, keyOf(metadata.name), { merge }, AbortSignal.timeout(SOON_MS));
  }
}

test('the update operator reboots the nodes one after the other, while its leaders are killed', async () => {
  await using namespace = await cluster.namespace();
  try {
    await using example = await startExamplePods(cluster, 'update-operator', HOME, {
      UPDATE_OPERATOR_BEFORE_REBOOT_ANNOTATIONS: CHECKS.before,
      UPDATE_OPERATOR_AFTER_REBOOT_ANNOTATIONS: CHECKS.after,
    });
    await cluster.mustKubectl(['rollout', 'status', 'daemonset/update-agent', '-n', HOME, '--timeout=120s']);
    const names = (await cluster.nodes()).map(({ metadata }) => metadata.name ?? '');
    const before = new Map(await Promise.all(names.map(async (name) => [name, await startOf(name)] as const)));
    await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 2));
    await cluster.untilRolledOut(namespace.name, 'web');
    const pods = await cluster.pods(namespace.name);

    for (const name of names) await annotate(name, { [`${PREFIX}status`]: 'UPDATE_STATUS_UPDATED_NEED_REBOOT' });
    const { most, killed } = await followReboots(example, names.length);
    expect(most).toBe(1);
    expect(killed, 'killed leaders').toHaveLength(2);
    expect(killed[0]).not.toBe(killed[1]);
    for (const name of names) expect(await startOf(name)).not.toBe(before.get(name));
    await cluster.untilNodesReady(names.length);
    await cluster.untilRolledOut(namespace.name, 'web');
    // One that is evicted may still be ending.
    const lasting = (await cluster.pods(namespace.name)).filter(({ metadata }) => !metadata.deletionTimestamp);
    const uids = lasting.map(({ metadata }) => metadata.uid);
    const kept = uids.filter((uid) => pods.some(({ metadata }) => metadata.uid === uid));
    expect(kept, 'pods that were not evicted').toEqual([]);
    await eventually('all slots are free', SOON_MS, async () => {
      const { data = {} } = await cluster.get(CONFIG_MAPS, HOME, 'update-operator-slots');
      return Object.keys(data).length === 0;
    });
    expect(await example.faults()).toEqual([]);
  } finally {
    await forget();
  }
});
