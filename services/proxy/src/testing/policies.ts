import type { KubeObject, NetworkPolicy, NetworkPolicySpec, Node, Pod } from '@gantry/objects';

/** The policy default/guard, unless given otherwise. */
export function networkPolicy(spec: NetworkPolicySpec, name = 'guard', namespace = 'default'): NetworkPolicy {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { namespace, name }, spec };
}

/** A running pod on node-a with the port web at 8080/TCP. Its agent is at 10.128.0.3. */
export function pod(
  name: string,
  address: string,
  labels: Record<string, string> = { app: name },
  namespace = 'default',
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels },
    spec: { nodeName: 'node-a', containers: [{ name: 'main', ports: [{ name: 'web', containerPort: 8080 }] }] },
    status: { podIP: address, hostIP: '10.128.0.3', phase: 'Running' },
  };
}

/** A Node with this InternalIP. */
export function node(name: string, address: string): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { addresses: [{ type: 'InternalIP', address }] },
  };
}

export function namespace(name: string, labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } },
  };
}
