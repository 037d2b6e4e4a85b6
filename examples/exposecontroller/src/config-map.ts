import type { ConfigMap } from '@gantry/operator';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Config } from './config.ts';
import { type Exposure, hasTlsOf } from './exposure.ts';

const OF_SERVICE = 'expose.config.fabric8.io/';
/** Annotations `PREFIX/SERVICE`, whose value is a list of the keys that get this form of the URL. */
const FORMS: Readonly<Record<string, (url: URL) => string>> = {
  'expose.service-key.config.fabric8.io': (url) => bare(url.href),
  'expose-full.service-key.config.fabric8.io': (url) => `${bare(url.href)}/`,
  'expose-no-path.service-key.config.fabric8.io': (url) => `${url.origin}/`,
  'expose-no-protocol.service-key.config.fabric8.io': (url) => bare(url.host + url.pathname),
  'expose-full-no-protocol.service-key.config.fabric8.io': (url) => `${bare(url.host + url.pathname)}/`,
};
const LINES = z.array(
  z.object({
    key: z.string().min(1),
    expression: z.string(),
    prefix: z.string().default(''),
    suffix: z.string().default(''),
  }),
);

/** The Services whose URLs the ConfigMap may contain: that of the same name, and those that its annotations name. */
export function namesServices({ metadata }: ConfigMap): readonly string[] {
  const named = Object.keys(metadata.annotations ?? {}).flatMap((annotation) => {
    const [prefix = '', service] = annotation.split('/');
    return service !== undefined && Object.hasOwn(FORMS, prefix) ? [service] : [];
  });
  return [...new Set([metadata.name ?? '', ...named])];
}

/** The data that differs from what the annotations ask for. Values of Services that are not exposed stay. */
export function changedData(
  configMap: ConfigMap,
  exposures: readonly Exposure[],
  config: Config,
): Record<string, string> {
  const { name, annotations = {} } = configMap.metadata;
  const { data = {} } = configMap;
  const wanted: Record<string, string> = {};
  const own = exposures.find(({ service }) => service.metadata.name === name);
  if (own !== undefined) Object.assign(wanted, ofSameName(configMap, own, config));
  for (const { service, url } of exposures) {
    for (const [prefix, form] of Object.entries(FORMS)) {
      for (const key of keysIn(annotations[`${prefix}/${service.metadata.name ?? ''}`]))
        wanted[key] = form(new URL(url));
    }
  }
  if (exposures.length > 0) {
    for (const key of keysIn(annotations[`${OF_SERVICE}url-protocol`]))
      wanted[key] = hasTlsOf(config) ? 'https' : 'http';
  }
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => data[key] !== value));
}

function ofSameName(configMap: ConfigMap, { service, url, host }: Exposure, config: Config): Record<string, string> {
  const { annotations = {} } = configMap.metadata;
  const { data = {} } = configMap;
  const { apiserver, 'apiserver-protocol': protocol, 'console-url': consoleUrl } = config;
  const apiserverUrl = apiserver === '' ? '' : `${protocol}://${apiserver}`;
  const of = (suffix: string) =>
    service.metadata.annotations?.[OF_SERVICE + suffix] || annotations[OF_SERVICE + suffix];
  const { clusterIP = '', ports = [] } = service.spec ?? {};
  const address = clusterIP === '' || clusterIP === 'None' ? '' : clusterIP;
  const addressAndPort = address === '' || ports[0] === undefined ? '' : `${address}:${ports[0].port}`;
  const ifEmpty = of('clusterip-port-if-empty-key');
  const values: readonly (readonly [string | undefined, string])[] = [
    [annotations[`${OF_SERVICE}url-key`], url],
    [annotations[`${OF_SERVICE}host-key`], host],
    [annotations[`${OF_SERVICE}path-key`], new URL(url).pathname],
    [of('clusterip-key'), address],
    [of('clusterip-port-key'), addressAndPort],
    [(data[ifEmpty ?? ''] ?? '') === '' ? ifEmpty : undefined, addressAndPort],
    [annotations[`${OF_SERVICE}apiserver-key`], apiserver],
    [annotations[`${OF_SERVICE}apiserver-url-key`], apiserverUrl],
    [annotations[`${OF_SERVICE}apiserver-protocol-key`], protocol],
    [annotations[`${OF_SERVICE}console-url-key`], consoleUrl],
  ];
  const wanted = Object.fromEntries(values.filter(([key, value]) => (key ?? '') !== '' && value !== ''));
  const expressions = {
    host,
    url,
    apiserver,
    apiserverURL: apiserverUrl,
    apiserverProtocol: protocol,
    consoleURL: consoleUrl,
  };
  return { ...wanted, ...replacedLines(of('config-yaml'), { ...data, ...wanted }, expressions) };
}

/** Replaces the lines of values that begin with a prefix. Throws ZodError and YAMLParseError for a list that cannot be read. */
function replacedLines(
  text: string | undefined,
  data: Readonly<Record<string, string>>,
  expressions: Readonly<Record<string, string>>,
): Record<string, string> {
  const replaced: Record<string, string> = {};
  for (const { key, expression, prefix, suffix } of LINES.parse(text === undefined ? [] : parse(text))) {
    const before = replaced[key] ?? data[key] ?? '';
    const value = expressions[expression] ?? '';
    if (before === '' || value === '') continue;
    const lines = before
      .split('\n')
      .map((line) => (line !== '' && line.startsWith(prefix) ? prefix + value + suffix : line));
    replaced[key] = lines.join('\n');
  }
  return replaced;
}

function keysIn(list = ''): readonly string[] {
  return list
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
}

function bare(url: string): string {
  return url.replace(/\/+$/, '');
}
