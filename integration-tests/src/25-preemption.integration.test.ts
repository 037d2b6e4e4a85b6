/** Pods that take the place of others, on a node with three seats, which is an extended resource. */
import { NODES, POD_DISRUPTION_BUDGETS, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;
const SEAT = 'example.dev/seat';
const HOLD = 'example.dev/hold';

const classOf = (name: string, value: number, preemptionPolicy: string) => `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: ${name} }
value: ${value}
preemptionPolicy: ${preemptionPolicy}
---
`;

/** Takes seats; `held` pods can be looked at after their end. */
const podOf = (name: string, priorityClass: string, { app = name, seats = 1, held = false } = {}) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${app} }, finalizers: [${held ? HOLD : ''}] }
spec:
  priorityClassName: ${priorityClass}
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: busybox:1.36
      command: [sleep, '3600']
      resources: { limits: { ${SEAT}: '${seats}' } }
---
`;

test('a pod of high priority takes the place of the least important pods that no budget protects', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const kubectl = (args: readonly string[], input = '') => cluster.mustKubectl(['-n', name, ...args], { input });
  const apply = (manifest: string) => kubectl(['apply', '-f', '-'], manifest);
  const pod = (of: string) => cluster.get(PODS, name, of);
  const untilReady = (of: string) => eventually(`${of} is ready`, PATIENCE_MS, async () => isReady(await pod(of)));
  const untilDescribed = (of: string, text: string) =>
    eventually(`${of} says ${text}`, PATIENCE_MS, async () => (await kubectl(['describe', 'pod', of])).includes(text));
  const [node] = await cluster.nodes();
  const nodeName = node?.metadata.name ?? '';
  const setSeats = (seats: string | null) =>
    kubectl([
      'patch',
      'node',
      nodeName,
      '--subresource=status',
      '-p',
      JSON.stringify({ status: { capacity: { [SEAT]: seats } } }),
    ]);
  const [low, high, patient] = [`low-${name}`, `high-${name}`, `patient-${name}`];
  try {
    await apply(
      classOf(low, 1, 'PreemptLowerPriority') +
        classOf(high, 1000, 'PreemptLowerPriority') +
        classOf(patient, 1000, 'Never'),
    );
    await setSeats('3');
    await eventually('the seats can be allocated', PATIENCE_MS, async () => {
      return (await cluster.get(NODES, '', nodeName)).status?.allocatable?.[SEAT] === '3';
    });

    await apply(podOf('free', low, { held: true }) + podOf('safe', low) + podOf('safe-too', low, { app: 'safe' }));
    await kubectl(['create', 'poddisruptionbudget', 'safe', '--selector=app=safe', '--min-available=2']);
    for (const one of ['free', 'safe', 'safe-too']) await untilReady(one);
    await eventually('the budget is counted', PATIENCE_MS, async () => {
      const { status } = await cluster.get(POD_DISRUPTION_BUDGETS, name, 'safe');
      return status?.currentHealthy === 2 && status.disruptionsAllowed === 0;
    });

    await apply(podOf('waits', patient));
    await untilDescribed('waits', 'preemption: not eligible due to preemptionPolicy=Never.');
    expect((await pod('free')).metadata.deletionTimestamp).toBeUndefined();

    await apply(podOf('first', high));
    await untilReady('first');
    const { metadata, spec } = await pod('first');
    expect(spec?.nodeName).toBe(nodeName);
    const victim = await pod('free');
    expect(victim.metadata.deletionTimestamp).toBeDefined();
    expect(victim.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'PreemptionByScheduler',
        message: 'default-scheduler: preempting to accommodate a higher priority pod',
      }),
    );
    await untilDescribed('free', `Preempted by pod ${metadata.uid} on node ${nodeName}`);
    for (const one of ['safe', 'safe-too']) expect((await pod(one)).metadata.deletionTimestamp).toBeUndefined();
    expect((await pod('waits')).spec?.nodeName).toBeUndefined();
    const options = { env: { GANTRY_HOME: cluster.home } };
    const explain = (...args: readonly string[]) =>
      runProgram(`${cluster.root}/deploy/bin/explain-scheduling`, args, options);
    const waits = await explain('waits', '-n', name);
    expect(waits.stdout, waits.stderr).toMatch(
      new RegExp(`^${name}/waits at .*: not assigned\\. 0/\\d+ nodes are available`),
    );
    expect(waits.stdout).toMatch(new RegExp(`^${nodeName} +NodeResourcesFit: Insufficient ${SEAT}$`, 'm'));
    expect(await explain('nobody', '-n', name)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`there is no decision for ${name}/nobody`),
    });

    // Now only pods with a budget are of lower priority: there is no other way, and one of them is enough.
    await apply(podOf('second', high));
    await untilReady('second');
    const left = (await cluster.pods(name, 'app=safe')).filter((one) => one.metadata.deletionTimestamp === undefined);
    expect(left).toHaveLength(1);

    // Two seats are held by pods of its own priority.
    await apply(podOf('large', high, { seats: 2 }));
    await untilDescribed('large', 'preemption: 0/');
    expect((await pod('large')).status?.nominatedNodeName).toBeUndefined();
    expect(left[0] && isReady(await pod(left[0].metadata.name ?? ''))).toBe(true);
  } finally {
    await setSeats(null);
    await cluster.kubectl(['delete', 'priorityclass', low, high, patient]);
    await cluster.kubectl([
      '-n',
      name,
      'patch',
      'pod',
      'free',
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    ]);
  }
});
