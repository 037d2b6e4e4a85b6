import { expect, test } from 'vitest';
import { componentsOf, peersOf, RUN_FORMAT, scenarioRun, sortRuns, STRIKES, strikeOf, workingService } from './runs.ts';

const target = (name: string, ...peers: string[]) => ({ target: name, peers });
const service = {
  uid: '1',
  heartbeatAt: 100_000,
  workloads: [],
  faults: [
    { name: 'kill', what: '', targets: [target('scheduler/leader'), target('proxy/1')] },
    { name: 'etcd-kill', what: '', targets: [target('etcd/leader')] },
    { name: 'cut', what: '', targets: [target('scheduler/leader', 'etcd', 'apiserver')] },
    { name: 'etcd-full', what: '', targets: [target('etcd')] },
  ],
};
const [kill, pause, cut] = STRIKES;

test('a service whose heartbeat has stopped does not work', () => {
  expect(workingService([service], 159_999)).toBe(service);
  expect(workingService([service], 160_000)).toBeUndefined();
  expect(workingService([{ ...service, heartbeatAt: Number.NaN }], 0)).toBeUndefined();
});

test('the buttons strike components that have such a fault', () => {
  expect(componentsOf(service)).toEqual(['etcd/leader', 'proxy/1', 'scheduler/leader']);
  expect(strikeOf(service, kill, 'etcd/leader', '')).toEqual({
    kind: 'etcd-kill',
    target: 'etcd/leader',
    durationMs: 0,
  });
  expect(strikeOf(service, pause, 'etcd/leader', '')).toBeUndefined();
  expect(peersOf(service, 'scheduler/leader')).toEqual(['etcd', 'apiserver']);
  expect(strikeOf(service, cut, 'scheduler/leader', 'etcd')).toEqual({
    kind: 'cut',
    target: 'scheduler/leader',
    peer: 'etcd',
    durationMs: 12_000,
  });
  expect(strikeOf(service, cut, 'scheduler/leader', 'proxy/1')).toBeUndefined();
});

test('a scenario without a seed and kinds leaves both to the service', () => {
  const scenario = { seed: ' ', duration: '1m', intensity: '2', faults: [], workloads: ['counters'] };
  expect(scenarioRun(scenario)).toMatchObject({ spec: { duration: '1m', intensity: 2, workloads: ['counters'] } });
  expect(scenarioRun(scenario)).not.toHaveProperty('spec.seed');
  expect(scenarioRun(scenario)).not.toHaveProperty('spec.faults');
  expect(scenarioRun({ ...scenario, seed: '0', faults: ['kill'] })).toMatchObject({
    spec: { seed: 0, faults: ['kill'] },
  });
});

test('the newest run comes first, also one without a status', () => {
  const read = (name: string, creationTimestamp: string) =>
    RUN_FORMAT.rowsOf({ metadata: { uid: name, name, creationTimestamp } });
  const runs = [...read('a', '2026-01-01T00:00:00Z'), ...read('b', '2026-01-01T00:00:01Z')];
  expect(sortRuns(runs).map(({ name }) => name)).toEqual(['b', 'a']);
  expect(runs[0]?.status).toEqual({});
});
