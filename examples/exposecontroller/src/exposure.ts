import type { Service } from '@gantry/operator';
import { type Config, hostOf } from './config.ts';

/** How a Service is reached from outside. */
export interface Exposure {
  readonly service: Service;
  readonly host: string;
  /** Begins with `/`. */
  readonly path: string;
  readonly port: number;
  /** The host of the certificate; undefined without TLS. */
  readonly tlsHost: string | undefined;
  /** In path mode, the class is nginx when none is configured. */
  readonly ingressClass: string;
  readonly url: string;
}

/** How the Service is exposed; undefined if it is not. */
export function exposureOf(service: Service, config: Config): Exposure | undefined {
  const { namespace = '', annotations = {} } = service.metadata;
  const port = portOf(service);
  if (!wantsExposure(service, config) || port === undefined) return undefined;
  const ingressName = ingressNameOf(service);
  const domain =
    annotations['fabric8.io/use.internal.domain'] === 'true'
      ? (config['internal-domain'] ?? config.domain)
      : config.domain;
  const isPathMode = (annotations['fabric8.io/path.mode'] || config['path-mode']) === 'path';
  const suffix = annotations['fabric8.io/ingress.path'] ?? '';
  const host = isPathMode
    ? domain
    : hostOf(config, annotations['fabric8.io/host.name'] || ingressName, namespace, domain);
  const path = isPathMode ? join(`/${namespace}/${ingressName}`, suffix) : join('', suffix);
  const hasTls = hasTlsOf(config) && annotations['jenkins-x.io/skip.tls'] !== 'true';
  const base = `${hasTls ? 'https' : 'http'}://${host}`;
  const apiPath = annotations['api.service.kubernetes.io/path'] ?? '';
  const withPath = path === '/' ? base : base + path;
  return {
    service,
    host,
    path,
    port,
    tlsHost: hasTls ? (config['tls-use-wildcard'] ? `*.${domain}` : host) : undefined,
    ingressClass: config['ingress-class'] || (isPathMode ? 'nginx' : ''),
    url: apiPath === '' ? withPath : join(withPath, apiPath),
  };
}

/** The annotations that are written on the Service. */
export function exposureAnnotations({ service, host, url }: Exposure): Record<string, string> {
  const key = service.metadata.annotations?.['fabric8.io/exposeHostNameAs'] ?? '';
  return { ...(key === '' ? {} : { [key]: host }), [EXPOSE_URL]: url };
}

export const EXPOSE_URL = 'fabric8.io/exposeUrl';

/** Whether Services have TLS unless they say otherwise. */
export function hasTlsOf(config: Config): boolean {
  return !config.http && (config['tls-acme'] || config['tls-secret-name'] !== '');
}

/** The name of the Ingress, which several Services may share. */
export function ingressNameOf({ metadata }: Service): string {
  const { name = '', annotations = {}, labels = {} } = metadata;
  const prefix = `${labels['release'] ?? ''}-`;
  const short = prefix !== '-' && name.startsWith(prefix) && name !== prefix ? name.slice(prefix.length) : name;
  return annotations['fabric8.io/ingress.name'] || short;
}

function wantsExposure({ metadata }: Service, { services }: Config): boolean {
  const { name = '', annotations = {}, labels = {}, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined || (services.length > 0 && !services.includes(name))) return false;
  return (
    labels['expose'] === 'true' ||
    annotations['fabric8.io/expose'] === 'true' ||
    annotations['fabric8.io/inject'] === 'true'
  );
}

function portOf({ metadata, spec }: Service): number | undefined {
  const ports = (spec?.ports ?? []).map(({ port }) => port);
  const wanted = Number(metadata.annotations?.['fabric8.io/exposePort']);
  return ports.includes(wanted) ? wanted : ports[0];
}

/** Joins with one `/`. */
function join(left: string, right: string): string {
  return `${left.replace(/\/+$/, '')}/${right.replace(/^\/+/, '')}`;
}
