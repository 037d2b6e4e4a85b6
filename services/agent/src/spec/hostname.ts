import type { Pod } from '@gantry/objects';
import { CLUSTER_DOMAIN } from './dns.ts';

/** The kernel's limits: of a name without, and with its domain. */
const MAX_HOSTNAME = 63;
const MAX_FQDN = 64;

/** The name of a pod's containers without its domain, cut to the kernel's limit. */
export function podHostname({ spec, metadata }: Pod): string {
  const name =
    spec?.hostnameOverride ?? (spec?.hostname === undefined || spec.hostname === '' ? metadata.name : spec.hostname);
  return (name ?? '').length <= MAX_HOSTNAME ? (name ?? '') : (name ?? '').slice(0, MAX_HOSTNAME).replace(/[-.]+$/, '');
}

/** The domain below which a headless Service names the pod; '' without a subdomain, or with a name that is taken as it is. */
function podDomain({ spec, metadata }: Pod): string {
  const subdomain = spec?.subdomain ?? '';
  if (subdomain === '' || spec?.hostnameOverride !== undefined) return '';
  return `${subdomain}.${metadata.namespace ?? ''}.svc.${CLUSTER_DOMAIN}`;
}

/** What `hostname` prints in the pod's containers: with `setHostnameAsFQDN` its name and domain. */
export function kernelHostname(pod: Pod): string {
  const domain = podDomain(pod);
  return pod.spec?.setHostnameAsFQDN === true && domain !== '' ? `${podHostname(pod)}.${domain}` : podHostname(pod);
}

/** The hostname file of a pod; undefined on the host's network, where the engine writes the host's. */
export function hostnameFile(pod: Pod): string | undefined {
  return pod.spec?.hostNetwork === true ? undefined : `${kernelHostname(pod)}\n`;
}

/** Why the kernel would not take the pod's hostname, in kubelet's words. */
export function hostnameRefusal(pod: Pod): string | undefined {
  const name = kernelHostname(pod);
  if (pod.spec?.setHostnameAsFQDN !== true || name.length <= MAX_FQDN) return undefined;
  return `Failed to construct FQDN from pod hostname and cluster domain, FQDN ${name} is too long (${MAX_FQDN} is the max, ${name.length} characters requested)`;
}

const HEAD = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;

/**
 * The hosts file of a pod, as kubelet writes it. Undefined on the host's network, where the engine adds to the host's file, and
 * without an address.
 */
export function hostsFile(pod: Pod, address: string): string | undefined {
  if (pod.spec?.hostNetwork === true || address === '') return undefined;
  const [name, domain] = [podHostname(pod), podDomain(pod)];
  const own = `${address}\t${domain === '' ? '' : `${name}.${domain}\t`}${name}\n`;
  const aliases = (pod.spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => `${[ip, ...hostnames].join('\t')}\n`);
  return [HEAD, own, ...(aliases.length === 0 ? [] : ['\n# Entries added by HostAliases.\n']), ...aliases].join('');
}
