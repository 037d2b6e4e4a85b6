import { readFileSync } from 'node:fs';
import { type AddressRange, formatIpv4, type Node, podAddresses, type Service, type Taint } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { GivenAddresses } from './controller.ts';
import { type Action, addressOf, type ObservedService, planLoadBalancer, servingNodes } from './plan.ts';

interface ServiceCase {
  readonly name?: string;
  readonly ports: readonly number[];
  readonly type?: string;
  readonly class?: string;
  readonly nodePorts?: boolean;
  readonly deleted?: boolean;
  readonly finalizers?: string[];
  readonly address?: string;
  readonly wanted?: string;
}

interface Case {
  readonly name: string;
  /** The names of the present hosts. `hostsBefore` are those that were noted before. */
  readonly hosts?: readonly string[];
  readonly hostsBefore?: readonly string[];
  readonly backends?: 'none' | 'some';
  readonly service: ServiceCase;
  readonly taken?: readonly string[] | 'all';
  readonly forwardedFrom?: readonly string[];
  readonly want: {
    readonly actions: readonly string[];
    readonly finalizers: readonly string[];
    readonly address: string;
  };
}

const CASES = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[];
const POD_CIDR = '10.128.0.0/20';
const RANGE: AddressRange = podAddresses(POD_CIDR)?.loadBalancers ?? { first: 1, last: 0 };
const ALL = Array.from({ length: RANGE.last - RANGE.first + 1 }, (_, index) => formatIpv4(RANGE.first + index));

const serviceOf = (one: ServiceCase): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    namespace: 'ns',
    name: one.name ?? 's',
    uid: `uid-${one.name ?? 's'}`,
    ...(one.finalizers === undefined ? {} : { finalizers: one.finalizers }),
    ...(one.deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  spec: {
    type: one.type ?? 'LoadBalancer',
    ports: one.ports.map((port) => ({ port })),
    ...(one.wanted === undefined ? {} : { loadBalancerIP: one.wanted }),
    allocateLoadBalancerNodePorts: one.nodePorts ?? true,
    ...(one.class === undefined ? {} : { loadBalancerClass: one.class }),
  },
  status: {
    loadBalancer: one.address === undefined ? {} : { ingress: [{ ip: one.address, ipMode: 'VIP' }] },
  },
});

const observedOf = ({ hosts = ['n'], hostsBefore, backends = 'some', service, ...one }: Case): ObservedService => ({
  forwardedFrom: one.forwardedFrom ?? [],
  service: serviceOf(service),
  backends,
  hosts,
  hostsBefore,
  range: hosts.length === 0 && service.address === undefined ? undefined : RANGE,
  taken: new Set(one.taken === 'all' ? ALL : one.taken),
});

const described = (actions: readonly Action[]) =>
  actions
    .filter(({ kind }) => kind !== 'noteHosts')
    .map((action) => (action.kind === 'event' ? `${action.type} ${action.reason}` : action.kind));

/** The Service after the actions. */
const after = (service: Service, actions: readonly Action[]): Service =>
  actions.reduce<Service>((now, action) => {
    if (action.kind === 'event' || action.kind === 'noteHosts') return now;
    if (action.kind === 'updateStatus') return { ...now, status: action.service.status ?? {} };
    return { ...now, metadata: { ...now.metadata, finalizers: action.service.metadata.finalizers ?? [] } };
  }, service);

describe('a Service of type LoadBalancer', () => {
  it.each(CASES.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const observed = observedOf(one);
    const { actions } = planLoadBalancer(observed);
    expect(described(actions)).toEqual(one.want.actions);
    const then = after(observed.service, actions);
    expect(then.metadata.finalizers ?? []).toEqual(one.want.finalizers);
    expect(addressOf(then)).toBe(one.want.address);
    const noted = actions.flatMap((action) => (action.kind === 'noteHosts' ? [action.hosts] : []));
    const again = planLoadBalancer({ ...observed, service: then, hostsBefore: noted[0] ?? observed.hostsBefore });
    // A missing address is reported each time, without a write.
    const isFailure = one.want.actions[0] === 'Warning SyncLoadBalancerFailed';
    expect(described(again.actions)).toEqual(isFailure ? one.want.actions : []);
  });

  it.each<readonly [string, Partial<ServiceCase>, readonly string[]]>([
    ['address 10.128.10.7 is used by another Service', { wanted: '10.128.10.7' }, ['10.128.10.7']],
    ['address 192.0.2.7 is not in the range 10.128.10.0-10.128.11.255', { wanted: '192.0.2.7' }, []],
    ['all addresses of the range 10.128.10.0-10.128.11.255 are used', {}, ALL],
  ])('says why it gets none: %s', (why, service, taken) => {
    const observed = observedOf({ ...(CASES[0] as Case), service: { ports: [80], ...service }, taken });
    const message = `Error syncing load balancer: failed to ensure load balancer: ${why}`;
    expect(planLoadBalancer(observed).actions).toEqual([expect.objectContaining({ message })]);
  });

  it('finishes after a crash between any two writes', () => {
    for (const one of CASES) {
      const observed = observedOf(one);
      const { actions } = planLoadBalancer(observed);
      const end = after(observed.service, actions);
      for (let done = 0; done < actions.length; done++) {
        const crashed = after(observed.service, actions.slice(0, done));
        const rest = planLoadBalancer({ ...observed, service: crashed }).actions;
        expect(after(crashed, rest)).toEqual(end);
      }
    }
  });
});

describe('a host that answers', () => {
  const node = (address: string, labels: Record<string, string> = {}): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: address, labels },
    status: { addresses: [{ type: 'InternalIP', address }] },
  });

  const removed = (metadata: Node['metadata'], taints: Taint[] = []): Node => {
    const one = node('10.128.12.3');
    return { ...one, metadata: { ...one.metadata, ...metadata }, spec: { taints } };
  };

  it.each<readonly [string, readonly Node[], boolean]>([
    ['has the address of a Node', [node('192.0.2.1'), node('10.128.12.3')], true],
    ['is not one of Nodes that are elsewhere', [node('192.0.2.1'), node('10.128.0.3')], false],
    [
      'is not one that load balancers must not use',
      [node('10.128.12.3', { 'node.kubernetes.io/exclude-from-external-load-balancers': '' })],
      false,
    ],
    [
      'is one that a label does not exclude',
      [node('10.128.12.3', { 'node.kubernetes.io/exclude-from-external-load-balancers': 'false' })],
      true,
    ],
    ['is not one that is being removed', [removed({ deletionTimestamp: '2026-01-01T00:00:00Z' })], false],
    [
      'is not one that the autoscaler removes',
      [removed({}, [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }])],
      false,
    ],
    ['is none without Nodes', [], false],
  ])('%s', (_, nodes, expected) => {
    expect(servingNodes(nodes, POD_CIDR)).toEqual(expected ? ['10.128.12.3'] : []);
  });
});

describe('addresses that were given', () => {
  it('count before the cache shows them, and no longer when it shows another or none', () => {
    const given = new GivenAddresses();
    const [x, y] = ['x', 'y'].map((name) => serviceOf({ name, ports: [80] })) as [Service, Service];
    const written = serviceOf({ name: 'x', ports: [80], address: '10.128.10.0' });
    given.note(written);
    expect(given.others(y, [x, y])).toEqual(new Set(['10.128.10.0']));
    expect(given.others(x, [x, y])).toEqual(new Set());
    expect(given.others(y, [written, y])).toEqual(new Set(['10.128.10.0']));
    expect(given.others(y, [x, y])).toEqual(new Set());
    given.note(written);
    expect(given.others(y, [y])).toEqual(new Set());
    given.note(written);
    given.clear();
    expect(given.others(y, [x, y])).toEqual(new Set());
  });
});
