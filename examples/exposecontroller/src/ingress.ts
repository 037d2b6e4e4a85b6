import type { Ingress, ObjectKey } from '@gantry/operator';
import type { Config } from './config.ts';
import type { Exposure } from './exposure.ts';

const GENERATED_BY = 'fabric8.io/generated-by';
const NAME = 'exposecontroller';

/** Whether the Ingress was made by this controller or by the original. */
export function isGenerated({ metadata }: Ingress): boolean {
  return metadata.annotations?.[GENERATED_BY] === NAME;
}

/** The Ingress of the Services that share its name: one rule for each host, in which longer paths come first. */
export function ingressFor(key: ObjectKey, exposures: readonly Exposure[], config: Config): Ingress {
  const hosts = [...new Set(exposures.map(({ host }) => host))].sort();
  const tlsHosts = [...new Set(exposures.flatMap(({ tlsHost }) => tlsHost ?? []))].sort();
  const secretName = config['tls-secret-name'] || `tls-${key.name}`;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      ...key,
      labels: { provider: 'fabric8' },
      annotations: annotationsFor(exposures, config),
      ownerReferences: exposures.map(({ service: { metadata } }) => {
        return { apiVersion: 'v1', kind: 'Service', name: metadata.name ?? '', uid: metadata.uid ?? '' };
      }),
    },
    spec: {
      rules: hosts.map((host) => ({ host, http: { paths: pathsFor(exposures.filter((one) => one.host === host)) } })),
      ...(tlsHosts.length === 0 ? {} : { tls: [{ hosts: tlsHosts, secretName }] }),
    },
  };
}

function annotationsFor(exposures: readonly Exposure[], config: Config): Record<string, string> {
  const ingressClass = exposures.find((one) => one.ingressClass !== '')?.ingressClass;
  const classes: Record<string, string> =
    ingressClass === undefined
      ? {}
      : { 'kubernetes.io/ingress.class': ingressClass, 'nginx.ingress.kubernetes.io/ingress.class': ingressClass };
  const extra = exposures.flatMap(({ service: { metadata } }) =>
    linesOf(metadata.annotations?.['fabric8.io/ingress.annotations']),
  );
  const acme = config['tls-acme'] && exposures.some(({ tlsHost }) => tlsHost !== undefined);
  return {
    ...classes,
    ...(acme ? { 'kubernetes.io/tls-acme': 'true' } : {}),
    ...Object.fromEntries(extra),
    [GENERATED_BY]: NAME,
  };
}

/** Lines `key: value`. Others are ignored. */
function linesOf(text = ''): readonly (readonly [string, string])[] {
  return text.split('\n').flatMap((line) => {
    const [, key, value] = /^\s*([^\s:#][^:]*?)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    return key === undefined || value === undefined ? [] : [[key, value] as const];
  });
}

function pathsFor(exposures: readonly Exposure[]) {
  const byLength = exposures.toSorted((a, b) => b.path.length - a.path.length || (a.path < b.path ? -1 : 1));
  return byLength.map(({ path, port, service }) => ({
    path,
    pathType: 'ImplementationSpecific',
    backend: { service: { name: service.metadata.name ?? '', port: { number: port } } },
  }));
}
