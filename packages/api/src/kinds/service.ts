import type { Service, ServicePort, ServiceSpec } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { formatLabelSelector } from './rules/labels.ts';
import { labelName } from './rules/names.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

const CLIENT_IP_SECONDS = 10800;

function applyDefaults(object: Service): void {
  const spec = (object.spec ??= {});
  if ((spec.sessionAffinity ?? '') === '') spec.sessionAffinity = 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    const config = (spec.sessionAffinityConfig ??= {});
    (config.clientIP ??= {}).timeoutSeconds ??= CLIENT_IP_SECONDS;
  }
  if ((spec.type ?? '') === '') spec.type = 'ClusterIP';
  for (const port of spec.ports ?? []) defaultPort(port);
  if (isExternallyAccessible(spec) && (spec.externalTrafficPolicy ?? '') === '') spec.externalTrafficPolicy = 'Cluster';
  if (['ClusterIP', 'NodePort', 'LoadBalancer'].includes(spec.type ?? '')) spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of object.status?.loadBalancer?.ingress ?? []) {
    if ((ingress.ip ?? '') !== '') ingress.ipMode ??= 'VIP';
  }
}

function defaultPort(port: ServicePort): void {
  if ((port.protocol ?? '') === '') port.protocol = 'TCP';
  if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '')
    port.targetPort = port.port ?? 0;
}

/** Whether traffic from outside the cluster can come in by the service itself. */
export function isExternallyAccessible(spec: ServiceSpec): boolean {
  return (
    spec.type === 'LoadBalancer' ||
    spec.type === 'NodePort' ||
    (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)
  );
}

function prepareForCreate(object: Service): void {
  object.status = { loadBalancer: {} };
  settleClusterIps(object.spec ?? {});
  settleFamilies(object.spec ?? {});
}

function prepareForUpdate(object: Service, old: Service): void {
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
  const spec = object.spec ?? {};
  keepAllocated(spec, old.spec ?? {});
  settleClusterIps(spec);
  settleFamilies(spec);
}

/** `clusterIP` is the first of `clusterIPs`; clients may give either. */
function settleClusterIps(spec: ServiceSpec): void {
  const single = spec.clusterIP ?? '';
  const list = spec.clusterIPs ?? [];
  if (single !== '' && list.length === 0) spec.clusterIPs = [single];
  if (single === '' && list.length > 0) spec.clusterIP = list[0] ?? '';
}

/** The cluster has one family, IPv4. */
function settleFamilies(spec: ServiceSpec): void {
  if (spec.type === 'ExternalName') return;
  spec.ipFamilyPolicy ??= 'SingleStack';
  if ((spec.ipFamilies ?? []).length === 0) spec.ipFamilies = ['IPv4'];
}

/** A client that replaces a service without repeating what was allocated keeps it. */
function keepAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type === 'ExternalName' || old.type === 'ExternalName') return;
  if ((spec.clusterIP ?? '') === '' && (spec.clusterIPs ?? []).length === 0) {
    if (old.clusterIP !== undefined) spec.clusterIP = old.clusterIP;
    if (old.clusterIPs !== undefined) spec.clusterIPs = old.clusterIPs;
  }
}

function externalIp({ spec = {}, status }: Service): string {
  const given = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ExternalName':
      return spec.externalName ?? '';
    case 'LoadBalancer': {
      const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip = '', hostname = '' }) =>
        ip === '' ? hostname : ip,
      );
      const all = [...new Set(ingress.filter((text) => text !== ''))].sort().concat(given);
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    case 'ClusterIP':
    case 'NodePort':
      return given.length === 0 ? '<none>' : given.join(',');
    default:
      return '<unknown>';
  }
}

function portList({ spec }: Service): string {
  const texts = (spec?.ports ?? []).map(({ port, nodePort = 0, protocol = 'TCP' }) =>
    nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return texts.length === 0 ? '<none>' : texts.join(',');
}

export const services: ResourceDefinition<Service> = {
  group: '',
  version: 'v1',
  kind: 'Service',
  resource: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  schema: 'core.v1.Service',
  verbs: STORED_VERBS,
  strategy: { validateName: labelName, applyDefaults, prepareForCreate, prepareForUpdate },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        if (old.spec !== undefined) object.spec = old.spec;
      },
    },
  ],
  columns: [
    nameColumn,
    column('Type', 'How the service can be reached.', ({ spec }) => spec?.type ?? ''),
    column('Cluster-IP', 'Address inside the cluster.', ({ spec }) => spec?.clusterIPs?.[0] ?? '<none>'),
    column('External-IP', 'Addresses from outside.', externalIp),
    column('Port(s)', 'Ports, with those opened on every node.', portList),
    ageColumn,
    column(
      'Selector',
      'Which pods serve.',
      ({ spec }) => formatLabelSelector(spec?.selector === undefined ? undefined : { matchLabels: spec.selector }),
      { wide: 'wide' },
    ),
  ],
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec?.clusterIP ?? '',
    'spec.type': ({ spec }) => spec?.type ?? '',
  },
  stored: true,
};
