import type { Node, Pod, Service, ServiceSpec } from '@gantry/objects';

/** A short description of a pod of a Service, for tests. */
export interface PodSketch {
  readonly name: string;
  /** One address or several. Absent for a pod without an address. */
  readonly ip?: string | readonly string[];
  /** True when absent. */
  readonly ready?: boolean;
  readonly phase?: string;
  readonly deleted?: boolean;
  /** The name of the node, `node` when absent. */
  readonly node?: string;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly labels?: Record<string, string>;
  /** Container ports by name. */
  readonly ports?: Readonly<Record<string, number>>;
  /** Container ports of a sidecar by name. */
  readonly sidecarPorts?: Readonly<Record<string, number>>;
  readonly readySince?: string;
}

export const SERVICE_LABELS = { app: 'a' };

export function sketchPod(sketch: PodSketch): Pod {
  const {
    name,
    ip = [],
    ready = true,
    phase = 'Running',
    deleted = false,
    node = 'node',
    hostname,
    subdomain,
  } = sketch;
  const { labels = SERVICE_LABELS, ports = {}, sidecarPorts, readySince = '2030-01-01T00:00:10Z' } = sketch;
  const ips = typeof ip === 'string' ? [ip] : ip;
  const portsOf = (of: Readonly<Record<string, number>>) =>
    Object.entries(of).map(([port, containerPort]) => ({ name: port, containerPort }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'n',
      uid: `uid-${name}`,
      labels,
      ...(deleted ? { deletionTimestamp: '2030-01-01T00:01:00Z' } : {}),
    },
    spec: {
      nodeName: node,
      containers: [{ name: 'c', ports: portsOf(ports) }],
      ...(sidecarPorts === undefined
        ? {}
        : { initContainers: [{ name: 's', restartPolicy: 'Always', ports: portsOf(sidecarPorts) }] }),
      ...(hostname === undefined ? {} : { hostname }),
      ...(subdomain === undefined ? {} : { subdomain }),
    },
    status: {
      phase,
      ...(ips[0] === undefined ? {} : { podIP: ips[0], podIPs: ips.map((one) => ({ ip: one })) }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: readySince }],
    },
  };
}

/** A Service `sv` that selects the pods made from sketches. */
export function sketchService(spec: ServiceSpec = {}, metadata: Partial<Service['metadata']> = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'sv',
      namespace: 'n',
      uid: 'uid-sv',
      creationTimestamp: '2030-01-01T00:00:00Z',
      ...metadata,
    },
    spec: {
      clusterIP: '10.96.0.9',
      ipFamilies: ['IPv4'],
      selector: SERVICE_LABELS,
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
      ...spec,
    },
  };
}

export function sketchNode(name: string, zone?: string): Node {
  const labels: Record<string, string> = zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
}
