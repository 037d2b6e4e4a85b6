import { CONTROLLER_REVISIONS, DAEMON_SETS, type DaemonSet, type Pod } from '@gantry/objects';
import { beforeAll, expect, test } from 'vitest';
import { Cluster, isReady } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const ROLLOUT_MS = 180_000;
const LABEL = 'tests.gantry.dev/daemon';

const cluster = new Cluster();
let nodeNames: readonly string[] = [];

beforeAll(async () => {
  nodeNames = (await cluster.nodes()).map(({ metadata }) => metadata.name ?? '').toSorted();
});

function daemon(): DaemonSet {
  // Of these characters Go's JSON differs from that of others.
  const env = [{ name: 'RULE', value: 'a && b < c > d' }];
  const container = { name: 'nginx', image: 'nginx:1.7.9', env };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'watcher' },
    spec: {
      selector: { matchLabels: { app: 'watcher' } },
      template: {
        metadata: { labels: { app: 'watcher' } },
        spec: { terminationGracePeriodSeconds: 1, containers: [container] },
      },
    },
  };
}

const living = (pods: readonly Pod[]) => pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const nodesOf = (pods: readonly Pod[]) => pods.map(({ spec }) => spec?.nodeName ?? '').toSorted();

test('a DaemonSet is created, restarted, updated, undone, moved to other nodes and deleted', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', name, ...args], { timeoutMs: ROLLOUT_MS });
  const rolledOut = () => kubectl('rollout', 'status', 'daemonset/watcher', '--timeout=170s');
  const pods = async () => living(await cluster.pods(name));
  const uids = async () => (await pods()).map(({ metadata }) => metadata.uid);

  await cluster.create(DAEMON_SETS, name, daemon());
  expect(await rolledOut()).toContain('successfully rolled out');
  expect(nodesOf(await pods())).toEqual(nodeNames);
  expect((await pods()).every(isReady)).toBe(true);

  const first = await uids();
  await kubectl('rollout', 'restart', 'daemonset/watcher');
  await rolledOut();
  expect(nodesOf(await pods())).toEqual(nodeNames);
  const restarted = await uids();
  expect(restarted.filter((uid) => first.includes(uid))).toEqual([]);

  await kubectl('set', 'image', 'daemonset/watcher', 'nginx=nginx:1.9.1');
  await rolledOut();
  expect(await kubectl('rollout', 'history', 'daemonset/watcher')).toMatch(/\n1 .*\n2 .*\n3 /);
  await kubectl('rollout', 'undo', 'daemonset/watcher', '--to-revision=1');
  await rolledOut();
  // kubectl compares the bytes of the revision's data with the template as Go writes it.
  const again = await kubectl('rollout', 'undo', 'daemonset/watcher', '--to-revision=4');
  expect(again).toContain('skipped rollback (current template already matches revision 4)');
  const images = (await pods()).map(({ spec }) => spec?.containers[0]?.image);
  expect(new Set(images)).toEqual(new Set(['nginx:1.7.9']));
  const revisions = await cluster.list(CONTROLLER_REVISIONS, name);
  expect(revisions.map(({ revision }) => revision).toSorted()).toEqual([2, 3, 4]);

  const [chosen = ''] = nodeNames;
  await cluster.mustKubectl(['label', 'node', chosen, `${LABEL}=yes`]);
  const selector = JSON.stringify({ spec: { template: { spec: { nodeSelector: { [LABEL]: 'yes' } } } } });
  await kubectl('patch', 'daemonset', 'watcher', '-p', selector);
  await rolledOut();
  await eventually('the pod is on the chosen node alone', ROLLOUT_MS, async () => {
    const { length } = await pods();
    return length === 1;
  });
  expect(nodesOf(await pods())).toEqual([chosen]);
  await cluster.mustKubectl(['label', 'node', chosen, `${LABEL}-`]);
  await eventually('no pod is left', ROLLOUT_MS, async () => (await pods()).length === 0);

  expect(await kubectl('describe', 'daemonset', 'watcher')).toMatch(/Normal +SuccessfulDelete .*daemonset-controller/);
  await kubectl('delete', 'daemonset', 'watcher');
  await eventually('the history is gone', ROLLOUT_MS, async () => {
    const { length } = await cluster.list(CONTROLLER_REVISIONS, name);
    return length === 0;
  });
});
