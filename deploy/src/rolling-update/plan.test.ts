import { expect, test } from 'vitest';
import { type Definition, findLeftovers, isOutdated, planUpdate, type Replica, type Turns } from './plan.ts';

const OLD = { hash: 'old', imageId: 'sha256:old' };
const NEW = { hash: 'new', imageId: 'sha256:new' };

function replica(service: string, number: number, change: Partial<Replica> = {}): Replica {
  const name = `c-${service}-${number}`;
  return { id: `${service}${number}${change.hash ?? ''}`, name, service, number, state: 'running', ...OLD, ...change };
}

const define = (...services: readonly string[]): readonly Definition[] =>
  services.map((service) => ({ service, ...NEW }));

/** `SERVICE HOW: NUMBER…`, with `+` after a number that has a successor. */
const shown = (replicas: readonly Replica[], definitions: readonly Definition[], turns?: Turns) =>
  planUpdate(replicas, definitions, turns).map(({ service, how, replacements }) => {
    const numbers = replacements.map(({ outdated, successor }) => `${outdated.number}${successor ? '+' : ''}`);
    return `${service} ${how}: ${numbers.join(' ')}`;
  });

test('etcd comes first, then the API servers, their clients, the agents, and the load balancer last', () => {
  const services = ['agent', 'agent-gateway', 'apiserver', 'etcd-0', 'load-balancer', 'proxy', 'scheduler'];
  const replicas = services.map((service) => replica(service, 1));
  expect(shown([...replicas, replica('agent', 2)], define(...services))).toEqual([
    'etcd-0 whole: 1',
    'apiserver overlapping: 1',
    'proxy whole: 1',
    'scheduler overlapping: 1',
    'agent one by one: 1 2',
    'agent-gateway held: 1',
    'load-balancer held: 1',
  ]);
});

test.each([
  ['as defined', NEW, []],
  ['of another definition', { ...NEW, hash: 'old' }, ['dns overlapping: 1']],
  ['of an image that had the name before', { ...NEW, imageId: 'sha256:old' }, ['dns overlapping: 1']],
  ['that does not run', { ...OLD, state: 'exited' }, []],
])('a container %s', (_what, change, plan) => {
  expect(shown([replica('dns', 1, change)], define('dns'))).toEqual(plan);
});

test('an image that the engine does not have yet is no reason to replace containers of the same definition', () => {
  expect(shown([replica('dns', 1, NEW)], [{ ...NEW, service: 'dns', imageId: undefined }])).toEqual([]);
});

test('a container of no service of the file is left to Compose', () => {
  expect(shown([replica('gone', 1)], define('dns'))).toEqual([]);
});

test('the leader is the last of its service', () => {
  const replicas = [replica('scheduler', 1), replica('scheduler', 2), replica('scheduler', 3)];
  expect(shown(replicas, define('scheduler'), { leaders: new Set(['scheduler1']), unhealthy: new Set() })).toEqual([
    'scheduler overlapping: 2 3 1',
  ]);
});

test('a member of etcd that does not respond is replaced before the others', () => {
  const services = ['etcd-0', 'etcd-1', 'apiserver'];
  const replicas = services.map((service) => replica(service, 1));
  expect(shown(replicas, define(...services), { leaders: new Set(), unhealthy: new Set(['etcd-11']) })).toEqual([
    'etcd-1 whole: 1',
    'etcd-0 whole: 1',
    'apiserver overlapping: 1',
  ]);
});

test('an update that was interrupted goes on with the successors that it had started', () => {
  const successor = (service: string) => replica(service, 2, { ...NEW, name: `0123_c-${service}-2` });
  const replicas = [
    ...[replica('apiserver', 1, NEW), replica('apiserver', 2), successor('apiserver')],
    ...[replica('agent', 1), replica('agent', 2, { state: 'exited' }), successor('agent')],
  ];
  expect(shown(replicas, define('apiserver', 'agent'))).toEqual([
    'apiserver overlapping: 2+',
    'agent one by one: 1 2+',
  ]);
  expect(findLeftovers('c', replicas, define('apiserver', 'agent'))).toEqual({ remove: [], rename: [] });
});

test('leftovers are models, useless successors, and successors with their first name', () => {
  const model = replica('dns', 4, { ...NEW, state: 'created', name: 'c-dns-model' });
  const ofCompose = replica('dns', 3, { ...NEW, state: 'created' });
  const neverRan = replica('dns', 1, { ...NEW, state: 'created', name: '89ab_c-dns-1' });
  const outdated = replica('dns', 1, { hash: 'older', name: '0123_c-dns-1' });
  const alone = replica('dns', 2, { ...NEW, name: '4567_c-dns-2' });
  const replicas = [replica('dns', 1), outdated, neverRan, alone, model, ofCompose];
  expect(findLeftovers('c', replicas, define('dns'))).toEqual({ remove: [model, outdated, neverRan], rename: [alone] });
});

test('the certificate job is outdated by its definition, though it does not run any more', () => {
  const job = replica('pki', 1, { state: 'exited' });
  expect(isOutdated('pki', [job, replica('dns', 1)], define('pki'))).toBe(true);
  expect(isOutdated('pki', [{ ...job, ...NEW }, replica('dns', 1)], define('pki'))).toBe(false);
  expect(planUpdate([job], define('pki'))).toEqual([]);
});
