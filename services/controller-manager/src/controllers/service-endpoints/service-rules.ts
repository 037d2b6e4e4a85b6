import { hasEnded, type Pod, type Service } from '@gantry/objects';

/** Marks objects of a Service without an address of its own. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

/** Whether the controllers write the endpoints of a Service: it selects pods, and is not a name of another host. */
export function hasOwnEndpoints({ spec }: Service): boolean {
  return spec?.type !== 'ExternalName' && selectsPods(spec);
}

/** Whether a Service names the labels of its pods. */
export function selectsPods(spec: Service['spec']): boolean {
  return Object.keys(spec?.selector ?? {}).length > 0;
}

export function isHeadless({ spec }: Service): boolean {
  return spec?.clusterIP === 'None' || (spec?.clusterIP ?? '') === '';
}

/** Whether a pod belongs into endpoints: it has an address and has not ended. */
export function isEndpoint(pod: Pod): boolean {
  if (hasEnded(pod)) return false;
  const { status } = pod;
  return (status?.podIP ?? '') !== '' || (status?.podIPs ?? []).length > 0;
}

/** The addresses of a pod as it reports them. */
export function addressesOf({ status }: Pod): readonly string[] {
  return (status?.podIPs ?? []).map(({ ip }) => ip);
}

/** The name that a pod has within a Service: its host name, where its subdomain names the Service. */
export function hostnameIn({ metadata, spec }: Pod, service: Service): string | undefined {
  const { hostname = '', subdomain } = spec ?? {};
  const isNamed = hostname !== '' && subdomain === service.metadata.name;
  return isNamed && metadata.namespace === service.metadata.namespace ? hostname : undefined;
}
