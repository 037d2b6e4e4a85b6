import type { Pod } from '@gantry/objects';
import { CLUSTER_DOMAIN } from './dns.ts';

/** The kernel's limits for a hostname, without and with its domain. */
const MAX_HOSTNAME = 63;
const MAX_FQDN = 64;

/** The hostname of a pod without domain, cut to the kernel's limit. */
export function podHostname({ spec, metadata }: Pod): string {
  const name =
    spec?.hostnameOverride ?? (spec?.hostname === undefined || spec.hostname === '' ? metadata.name : spec.hostname);
  return (name ?? '').length <= MAX_HOSTNAME ? (name ?? '') : (name ?? '').slice(0, MAX_HOSTNAME).replace(/[-.]+$/, '');
}

/** The domain in which a headless Service publishes the pod; '' without a subdomain, or with `hostnameOverride`. */
function podDomain({ spec, metadata }: Pod): string {
  const subdomain = spec?.subdomain ?? '';
  if (subdomain === '' || spec?.hostnameOverride !== undefined) return '';
  return `${subdomain}.${metadata.namespace ?? ''}.svc.${CLUSTER_DOMAIN}`;
}

/** The kernel's hostname in the pod's containers; with `setHostnameAsFQDN` it includes the domain. */
export function kernelHostname(pod: Pod): string {
  const domain = podDomain(pod);
  return pod.spec?.setHostnameAsFQDN === true && domain !== '' ? `${podHostname(pod)}.${domain}` : podHostname(pod);
}

/** The content of a pod's hostname file; undefined on the host's network, where the engine writes the host's name. */
export function hostnameFile(pod: Pod): string | undefined {
  return pod.spec?.hostNetwork === true ? undefined : `${kernelHostname(pod)}\n`;
}

/** The kubelet's error for a hostname that is too long for the kernel; undefined if it is valid. */
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
 * The hosts file of a pod in the kubelet's format. Undefined without an address, and on the host's network, where the engine extends the
 * host's file.
 */
export function hostsFile(pod: Pod, address: string): string | undefined {
  if (pod.spec?.hostNetwork === true || address === '') return undefined;
  const [name, domain] = [podHostname(pod), podDomain(pod)];
  const own = `${address}\t${domain === '' ? '' : `${name}.${domain}\t`}${name}\n`;
  const aliases = (pod.spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => `${[ip, ...hostnames].join('\t')}\n`);
  return [HEAD, own, ...(aliases.length === 0 ? [] : ['\n# Entries added by HostAliases.\n']), ...aliases].join('');
}
