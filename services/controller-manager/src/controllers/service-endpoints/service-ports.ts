import {
  type DiscoveryEndpointPort,
  lastingContainers,
  type Pod,
  type Service,
  type ServicePort,
} from '@gantry/objects';

/** A port of a Service as one of its pods serves it. */
export type PodPort = Required<Pick<DiscoveryEndpointPort, 'name' | 'port' | 'protocol'>> & {
  readonly appProtocol?: string;
};

/**
 * The ports of a Service that pods have, one list for pods that have the same: named target ports are looked up in their
 * containers and sidecars.
 */
export function portsOfPods(service: Service): (pod: Pod) => readonly PodPort[] {
  const { ports = [] } = service.spec ?? {};
  const isNamed = ports.some(({ targetPort }) => typeof targetPort === 'string');
  const known = new Map<string, readonly PodPort[]>();
  return (pod) => {
    const named = isNamed ? namedPorts(pod) : new Map<string, number>();
    const key = JSON.stringify([...named]);
    const found = known.get(key) ?? ports.flatMap((port) => portOf(port, named));
    known.set(key, found);
    return found;
  };
}

function portOf(servicePort: ServicePort, named: ReadonlyMap<string, number>): readonly PodPort[] {
  const { name = '', protocol = 'TCP', appProtocol, targetPort } = servicePort;
  const port =
    typeof targetPort === 'string' ? named.get(`${protocol} ${targetPort}`) : (targetPort ?? servicePort.port);
  return port === undefined ? [] : [{ name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
}

/** The first port of each protocol and name. */
function namedPorts(pod: Pod): ReadonlyMap<string, number> {
  const named = new Map<string, number>();
  for (const { ports = [] } of lastingContainers(pod)) {
    for (const { name = '', protocol = 'TCP', containerPort } of ports) {
      const id = `${protocol} ${name}`;
      if (name !== '' && !named.has(id)) named.set(id, containerPort);
    }
  }
  return named;
}
