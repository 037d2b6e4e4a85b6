import type { KubeObject, ObjectMeta } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { graphAround } from './relations.ts';

const object = (kind: string, name: string, more: object = {}, metadata: ObjectMeta = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, uid: `${kind}-${name}`, ...metadata },
  ...more,
});
const ownedBy = (kind: string, name: string): ObjectMeta => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: `${kind}-${name}` }],
});
const READY = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };

const POD_SPEC = {
  spec: {
    containers: [{ name: 'c', envFrom: [{ secretRef: { name: 'password' } }] }],
    volumes: [
      { name: 'a', configMap: { name: 'settings' } },
      { name: 'b', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'ca', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } },
    ],
  },
};
const POD = object(
  'Pod',
  'web-1',
  { ...POD_SPEC, ...READY },
  { ...ownedBy('ReplicaSet', 'web-x'), labels: { app: 'web' } },
);
const ALL: readonly KubeObject[] = [
  object('Deployment', 'web'),
  object('ReplicaSet', 'web-x', {}, ownedBy('Deployment', 'web')),
  POD,
  object('Pod', 'db-1', { spec: { volumes: [{ configMap: { name: 'settings' } }] } }, ownedBy('StatefulSet', 'db')),
  object('StatefulSet', 'db'),
  object('Service', 'web', { spec: { selector: { app: 'web' } } }),
  object(
    'EndpointSlice',
    'web-s',
    { endpoints: [{ targetRef: { kind: 'Pod', name: 'web-1' } }] },
    {
      ...ownedBy('Service', 'web'),
      labels: { 'kubernetes.io/service-name': 'web' },
    },
  ),
  object('Ingress', 'site', {
    spec: { rules: [{ http: { paths: [{ backend: { service: { name: 'web' } } }] } }], tls: [{ secretName: 'cert' }] },
  }),
  object('ConfigMap', 'settings'),
  object('PersistentVolumeClaim', 'data', { spec: { volumeName: 'pv-1' } }),
  object('PodDisruptionBudget', 'web', { spec: { selector: { matchLabels: { app: 'web' } } } }),
  object('HorizontalPodAutoscaler', 'web', { spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' } } }),
];
const find = (kind: string, name: string) =>
  ALL.find((one) => one.kind === kind && one.metadata.name === name) ?? expect.fail(`no ${kind} ${name}`);
const around = (kind: string, name: string) => {
  const { nodes, edges, left } = graphAround(find(kind, name), ALL);
  return { ids: nodes.map(({ id }) => id).sort(), edges: edges.map(({ from, to }) => `${from} > ${to}`), nodes, left };
};

describe('graphAround', () => {
  it('leads from a Deployment to its pods, what they use, and what leads to them', () => {
    const { ids, edges } = around('Deployment', 'web');
    expect(ids).toEqual([
      'ConfigMap/settings',
      'Deployment/web',
      'EndpointSlice/web-s',
      'HorizontalPodAutoscaler/web',
      'Ingress/site',
      'PersistentVolume/pv-1',
      'PersistentVolumeClaim/data',
      'Pod/web-1',
      'PodDisruptionBudget/web',
      'ReplicaSet/web-x',
      'Secret/password',
      'Service/web',
    ]);
    expect(edges).toContain('Deployment/web > ReplicaSet/web-x');
    expect(edges).toContain('Service/web > EndpointSlice/web-s');
    expect(edges.filter((edge) => edge === 'Service/web > EndpointSlice/web-s')).toHaveLength(1);
    expect(edges).not.toContain('Pod/web-1 > ConfigMap/kube-root-ca.crt');
  });

  it('does not lead to other workloads over what both use', () => {
    expect(around('Deployment', 'web').ids).not.toContain('StatefulSet/db');
  });

  it('shows all users of a ConfigMap with their owners', () => {
    const { ids } = around('ConfigMap', 'settings');
    expect(ids).toContain('StatefulSet/db');
    expect(ids).toContain('Deployment/web');
    expect(ids).not.toContain('Secret/password');
  });

  it('shows what is referred to and does not exist', () => {
    const missing = around('Ingress', 'site').nodes.find(({ id }) => id === 'Secret/cert');
    expect(missing).toMatchObject({ kind: 'Secret', name: 'cert', object: undefined });
  });

  it('shows the pods of a Service that are not ready, and have no endpoint', () => {
    const unready = object('Pod', 'new', {}, { labels: { app: 'web' } });
    const { edges } = graphAround(find('Service', 'web'), [...ALL, unready]);
    expect(edges).toContainEqual({ from: 'Service/web', to: 'Pod/new', label: 'selects, not ready' });
  });

  it('leaves out what is too much, and counts it', () => {
    const pods = Array.from({ length: 100 }, (_, i) => object('Pod', `p${i}`, {}, ownedBy('ReplicaSet', 'big')));
    const { nodes, left } = graphAround(object('ReplicaSet', 'big'), pods);
    expect([nodes.length, left]).toEqual([60, 41]);
  });

  it('ends with owners in a circle', () => {
    const one = object('A', 'a', {}, ownedBy('B', 'b'));
    expect(graphAround(one, [one, object('B', 'b', {}, ownedBy('A', 'a'))]).nodes).toHaveLength(2);
  });
});
