import type { Pod } from '@gantry/api';
import type { SandboxSpec } from '../runtime/runtime.ts';

/** The resolver settings of a pod; empty ones leave the engine's own. Cluster names come with the cluster's DNS service. */
export function sandboxDns(pod: Pod): SandboxSpec['dns'] {
  const config = pod.spec?.dnsConfig ?? {};
  return {
    servers: config.nameservers ?? [],
    searches: config.searches ?? [],
    options: (config.options ?? []).map(({ name, value }) =>
      value === undefined ? (name ?? '') : `${name ?? ''}:${value}`,
    ),
  };
}

/** The name that a pod's containers see as their own: at most 63 characters, as the kernel has it. */
export function podHostname(pod: Pod): string {
  const name = pod.spec?.hostnameOverride ?? pod.spec?.hostname ?? pod.metadata.name ?? '';
  return name.slice(0, 63).replace(/[-.]+$/, '');
}
