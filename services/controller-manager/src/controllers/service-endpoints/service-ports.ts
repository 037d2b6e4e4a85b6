import type { DiscoveryEndpointPort, Pod, Service, ServicePort } from '@gantry/objects';

/** A port of a Service as one of its pods serves it. */
export type PodPort = Required<Pick<DiscoveryEndpointPort, 'name' | 'port' | 'protocol'>> & {
  readonly appProtocol?: string;
};

/** The ports of a Service that a pod has: named target ports are looked up in its containers and sidecars. */
export function portsOfPod(service: Service, pod: Pod): readonly PodPort[] {
  return (service.spec?.ports ?? []).flatMap((servicePort) => {
    const port = findPort(servicePort, pod);
    if (port === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = servicePort;
    return [{ name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

function findPort({ targetPort, port, protocol = 'TCP' }: ServicePort, { spec }: Pod): number | undefined {
  if (typeof targetPort !== 'string') return targetPort ?? port;
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  for (const { ports = [] } of [...(spec?.containers ?? []), ...sidecars]) {
    const found = ports.find((one) => one.name === targetPort && (one.protocol ?? 'TCP') === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}
