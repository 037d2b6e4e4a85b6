import { readFileSync } from 'node:fs';
import type { Node, Service } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Action, hostAddresses, type ObservedService, planLoadBalancer } from './plan.ts';

interface ServiceCase {
  readonly name?: string;
  readonly ports: readonly number[];
  readonly protocol?: string;
  readonly type?: string;
  readonly class?: string;
  readonly nodePorts?: boolean;
  readonly deleted?: boolean;
  readonly finalizers?: string[];
  readonly addresses?: readonly string[];
}

interface Case {
  readonly name: string;
  readonly addresses?: readonly string[];
  readonly backends?: 'none';
  readonly service: ServiceCase;
  readonly others?: readonly ServiceCase[];
  readonly want: {
    readonly actions: readonly string[];
    readonly finalizers: readonly string[];
    readonly addresses: readonly string[];
  };
}

const CASES = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[];

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
    ports: one.ports.map((port) => ({ port, ...(one.protocol === undefined ? {} : { protocol: one.protocol }) })),
    allocateLoadBalancerNodePorts: one.nodePorts ?? true,
    ...(one.class === undefined ? {} : { loadBalancerClass: one.class }),
  },
  status: {
    loadBalancer: one.addresses === undefined ? {} : { ingress: one.addresses.map((ip) => ({ ip, ipMode: 'VIP' })) },
  },
});

const SOME: ObservedService['backends'] = 'some';

const described = (action: Action) => (action.kind === 'event' ? `${action.type} ${action.reason}` : action.kind);

/** The Service after the actions. */
const after = (service: Service, actions: readonly Action[]): Service =>
  actions.reduce<Service>((now, action) => {
    if (action.kind === 'event') return now;
    if (action.kind === 'updateStatus') return { ...now, status: action.service.status ?? {} };
    return { ...now, metadata: { ...now.metadata, finalizers: action.service.metadata.finalizers ?? [] } };
  }, service);

describe('a Service of type LoadBalancer', () => {
  it.each(CASES.map((one) => [one.name, one] as const))(
    '%s',
    (_, { addresses = ['192.0.2.1'], backends = SOME, service, others = [], want }) => {
      const observed = {
        service: serviceOf(service),
        backends,
        addresses,
        others: others.map((other) => serviceOf({ ...other, addresses })),
      };
      const { actions } = planLoadBalancer(observed);
      expect(actions.map(described)).toEqual(want.actions);
      const then = after(observed.service, actions);
      expect(then.metadata.finalizers ?? []).toEqual(want.finalizers);
      expect((then.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip)).toEqual(want.addresses);
      const again = planLoadBalancer({ ...observed, service: then }).actions;
      // A port that is taken is reported each time that is looked at it; nothing is written.
      expect(again.map(described)).toEqual(want.actions[0]?.startsWith('Warning') === true ? want.actions : []);
    },
  );

  it('names the Service that has its port', () => {
    const observed = {
      service: serviceOf({ ports: [80] }),
      backends: SOME,
      addresses: ['192.0.2.1'],
      others: [serviceOf({ name: 'web', ports: [80], addresses: ['192.0.2.1'] })],
    };
    expect(planLoadBalancer(observed).actions).toEqual([
      expect.objectContaining({
        message: 'Error syncing load balancer: failed to ensure load balancer: port 80/TCP is used by Service ns/web',
      }),
    ]);
  });

  it('finishes after a crash between any two writes', () => {
    for (const { addresses = ['192.0.2.1'], backends = SOME, service } of CASES) {
      const observed = { service: serviceOf(service), backends, addresses, others: [] };
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

describe('the addresses of hosts', () => {
  const node = (address: string, labels: Record<string, string> = {}): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: address, labels },
    status: {
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address },
      ],
    },
  });

  it('are named once, in order, without those of excluded nodes', () => {
    const excluded = node('192.0.2.3', { 'node.kubernetes.io/exclude-from-external-load-balancers': '' });
    expect(hostAddresses([node('192.0.2.2'), node('192.0.2.1'), node('192.0.2.2'), excluded])).toEqual([
      '192.0.2.1',
      '192.0.2.2',
    ]);
  });
});
