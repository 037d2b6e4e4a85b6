import type { Pod } from '@gantry/objects';
import type { SandboxSpec } from '../runtime/sandboxes.ts';

/** The resolver settings of a pod; empty ones keep the engine's. */
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

/** The hostname of a pod's containers: at most 63 characters, the kernel's limit. */
export function podHostname(pod: Pod): string {
  const name = pod.spec?.hostnameOverride ?? pod.spec?.hostname ?? pod.metadata.name ?? '';
  return name.slice(0, 63).replace(/[-.]+$/, '');
}
