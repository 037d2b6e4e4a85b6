import { type ServicePort, type ServiceSpec, equalJson } from '@gantry/objects';
import { isExternallyAccessible, needsHealthCheckPort } from './spec.ts';

export function needsClusterIp(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName';
}

/** A load balancer may reach pods without node ports. */
function needsNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
}

/** An update that omits allocated values keeps them. Changes `spec`. */
export function carryServiceAllocations(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(spec) && needsClusterIp(old)) carryAddresses(spec, old);
  matchAddresses(spec, old);
  if (needsNodePorts(spec) && needsNodePorts(old)) carryNodePorts(spec.ports ?? [], old.ports ?? []);
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(old) && (spec.healthCheckNodePort ?? 0) === 0) {
    if (old.healthCheckNodePort !== undefined) spec.healthCheckNodePort = old.healthCheckNodePort;
  }
}

function carryAddresses(spec: ServiceSpec, old: ServiceSpec): void {
  const before = old.clusterIPs ?? [];
  if ((spec.clusterIP ?? '') === '' && old.clusterIP !== undefined) spec.clusterIP = old.clusterIP;
  if ((spec.clusterIPs ?? []).length === 0 && before.length > 0) spec.clusterIPs = before;
}

/** If a client changes only one of the two fields, the other one follows. */
function matchAddresses(spec: ServiceSpec, old: ServiceSpec): void {
  const [address, before] = [spec.clusterIP ?? '', old.clusterIP ?? ''];
  if (address === before) {
    if ((spec.clusterIPs ?? []).length === 0 && old.clusterIPs !== undefined) spec.clusterIPs = old.clusterIPs;
  } else if (equalJson(spec.clusterIPs ?? [], old.clusterIPs ?? [])) {
    if (address === '') delete spec.clusterIPs;
    else spec.clusterIPs = [address];
  }
}

/**
 * Keeps node ports by port name. A node port that the client assigned to another port is not used twice; one that two ports shared before
 * (with two protocols) is shared again. As in Kubernetes (`patchAllocatedValues`).
 */
function carryNodePorts(ports: readonly ServicePort[], old: readonly ServicePort[]): void {
  const byName = new Map(old.map((port) => [port.name ?? '', port.nodePort ?? 0]));
  const used = new Set(ports.map((port) => port.nodePort ?? 0));
  for (const port of ports) {
    const before = byName.get(port.name ?? '') ?? 0;
    if ((port.nodePort ?? 0) !== 0 || before === 0 || used.has(before)) continue;
    port.nodePort = before;
  }
}

/** Drops allocations that the new type cannot have, if the client left them unchanged. Changes `spec`. */
export function dropUnusedAllocations(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && !needsClusterIp(spec)) dropAddresses(spec, old);
  if (mayHaveNodePorts(old) && !mayHaveNodePorts(spec)) {
    const before = new Set((old.ports ?? []).map((port) => port.nodePort ?? 0));
    if ((spec.ports ?? []).every(({ nodePort = 0 }) => nodePort === 0 || before.has(nodePort))) {
      for (const port of spec.ports ?? []) delete port.nodePort;
    }
  }
  const unused: [(of: ServiceSpec) => boolean, keyof ServiceSpec][] = [
    [needsHealthCheckPort, 'healthCheckNodePort'],
    [(of) => of.type === 'LoadBalancer', 'allocateLoadBalancerNodePorts'],
    [(of) => of.type === 'LoadBalancer', 'loadBalancerClass'],
    [isExternallyAccessible, 'externalTrafficPolicy'],
  ];
  for (const [has, field] of unused) {
    if (has(old) && !has(spec) && spec[field] === old[field]) delete spec[field];
  }
}

function dropAddresses(spec: ServiceSpec, old: ServiceSpec): void {
  const isSame = (field: 'clusterIPs' | 'ipFamilies') => equalJson(spec[field] ?? [], old[field] ?? []);
  if ((spec.clusterIP ?? '') === (old.clusterIP ?? '') && isSame('clusterIPs')) {
    delete spec.clusterIP;
    delete spec.clusterIPs;
  }
  if (isSame('ipFamilies')) delete spec.ipFamilies;
  if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy;
}

/** Node ports that a client sets on a load balancer are kept, even if none are allocated for it. */
function mayHaveNodePorts({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer';
}
