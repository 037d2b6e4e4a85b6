import { type Node, NODES, type Pod, PODS } from '@gantry/operator';
import { type ObjectsReader, simulate, type Step } from '@gantry/operator/testing';
import { expect, test } from 'vitest';
import { updateAgent } from './agent.ts';
import { NAMES, NEEDS_REBOOT, stateOf } from './handshake.ts';
import { updateOperator } from './operator.ts';
import { isBusy } from './plan-operator.ts';

const NODE_NAMES = ['a', 'b', 'c', 'd'];
const CHECKS = { beforeReboot: ['example.com/ready'], afterReboot: ['example.com/fine'] };

/** The hosts of the nodes. They outlive the process. */
class Hosts {
  readonly boots = new Map<string, number>(NODE_NAMES.map((name) => [name, 0]));
  #isDrained = (_name: string): boolean => true;
  readonly wrong: string[] = [];

  observe(objects: ObjectsReader): void {
    const isDrained = (name: string) => objects.all(PODS).every(({ spec }) => spec?.nodeName !== name);
    this.#isDrained = isDrained;
  }

  of(name: string) {
    return {
      boot: async () => `boot ${this.boots.get(name)}`,
      reboot: async (signal: AbortSignal) => {
        // A crashed process reboots nothing.
        signal.throwIfAborted();
        if (!this.#isDrained(name)) this.wrong.push(`${name} reboots with a pod`);
        const boots = (this.boots.get(name) ?? 0) + 1;
        this.boots.set(name, boots);
        if (boots > 1) this.wrong.push(`${name} reboots again`);
      },
    };
  }
}

const node = (name: string, unschedulable?: true): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: unschedulable === undefined ? {} : { unschedulable },
});
const pod = (name: string, nodeName: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'main' }] },
});

/** Asks for a reboot of each node, and does what checks and the kubelet do, until all have been rebooted. */
const updateAll: Step = async (client, signal) => {
  for (const name of NODE_NAMES) {
    const annotations = { [NAMES.status]: NEEDS_REBOOT, ...(name === 'd' ? { [NAMES.rebootPaused]: 'true' } : {}) };
    await client.patch(NODES, { namespace: '', name }, { merge: { metadata: { annotations } } }, signal);
  }
  const done = new Set<string>();
  for await (const events of client.watch(NODES, { sendInitialEvents: true }, signal)) {
    for (const event of events) {
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
      const { name = '' } = event.object.metadata;
      const { isBefore, isAfter, isNeeded, isOk, has } = stateOf(event.object);
      const missing = [...(isBefore ? CHECKS.beforeReboot : []), ...(isAfter ? CHECKS.afterReboot : [])].filter(
        (one) => !has(one),
      );
      const annotations = Object.fromEntries(missing.map((one) => [one, 'true']));
      if (missing.length > 0) {
        await client.patch(NODES, { namespace: '', name }, { merge: { metadata: { annotations } } }, signal);
      }
      if (event.object.metadata.annotations?.[NAMES.rebootOk] === 'false' && !isNeeded && !isOk) done.add(name);
    }
    if (done.size === NODE_NAMES.length - 1) return;
  }
};

test.each([1, 2])(
  'never more than %i nodes reboot, each once, without pods, whatever crashes',
  async (maxRebooting) => {
    const hosts = new Hosts();
    let last: ObjectsReader | undefined;
    let most = 0;
    const seen = new WeakSet<object>();
    const report = await simulate({
      operator: () => ({
        name: 'update-operator',
        controllers: [
          updateOperator({
            maxRebooting,
            window: undefined,
            slots: { namespace: 'default', name: 'slots' },
            ...CHECKS,
          }),
          ...NODE_NAMES.map((name) =>
            updateAgent({ node: name, host: hosts.of(name), system: { [NAMES.id]: 'test' }, gracePeriodMs: 3_600_000 }),
          ),
        ],
      }),
      objects: [
        // That of the pods.
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } },
        node('a'),
        node('b', true),
        node('c'),
        node('d'),
        pod('one', 'a'),
        pod('two', 'c'),
        pod('three', 'd'),
      ],
      steps: [updateAll],
      invariant: (objects) => {
        if (!seen.has(objects)) {
          // Another history has begun.
          seen.add(objects);
          for (const name of NODE_NAMES) hosts.boots.set(name, 0);
        }
        hosts.observe(objects);
        last = objects;
        const busy = objects.all(NODES).filter((one) => isBusy(stateOf(one)));
        most = Math.max(most, busy.length);
        return busy.length > maxRebooting ? `${busy.length} nodes reboot` : hosts.wrong[0];
      },
      seeds: 60,
    });
    expect(report.text).toBe('');
    expect(most).toBe(maxRebooting);
    expect(Object.fromEntries(hosts.boots)).toEqual({ a: 1, b: 1, c: 1, d: 0 });
    const nodes = last?.all(NODES) ?? [];
    expect(nodes.map(({ metadata, spec }) => [metadata.name, spec?.unschedulable ?? false])).toEqual([
      ['a', false],
      ['b', true],
      ['c', false],
      ['d', false],
    ]);
    expect(last?.all(PODS).map(({ metadata }) => metadata.name)).toEqual(['three']);
  },
);
