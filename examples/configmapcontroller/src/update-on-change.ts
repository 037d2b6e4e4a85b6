import { createHash } from 'node:crypto';
import type { ConfigMap, Deployment } from '@gantry/operator';

const UPDATE_ON_CHANGE = 'configmap.fabric8.io/update-on-change';

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** The names in the annotation of a Deployment, without repetitions. Names of ConfigMaps contain no spaces, so these are dropped. */
export function listedConfigMaps({ metadata }: Deployment): readonly string[] {
  const names = (metadata.annotations?.[UPDATE_ON_CHANGE] ?? '').split(',').map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== '');
}

/**
 * The strategic merge patch that gives each container one variable for each of the ConfigMaps; undefined if the containers have them. A
 * changed value is a changed pod template, so the Deployment rolls. The patch is only valid for the version that was read, because it
 * would add a container that has been removed since.
 */
export function rollingPatch({ metadata, spec }: Deployment, configMaps: readonly ConfigMap[]): object | undefined {
  const variables = variablesOf(configMaps);
  const containers = (spec?.template.spec?.containers ?? []).flatMap(({ name, env = [] }) => {
    const stale = variables.filter((one) => !env.some((has) => has.name === one.name && has.value === one.value));
    return stale.length === 0 ? [] : [{ name, env: stale }];
  });
  if (containers.length === 0) return undefined;
  const { uid, resourceVersion } = metadata;
  return { metadata: { uid, resourceVersion }, spec: { template: { spec: { containers } } } };
}

/** Names such as `a.b` and `a-b` share a variable, whose value then depends on both. */
function variablesOf(configMaps: readonly ConfigMap[]): readonly Variable[] {
  const texts = new Map<string, string[]>();
  for (const configMap of configMaps) {
    const name = `FABRIC8_${(configMap.metadata.name ?? '').toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_CONFIGMAP`;
    texts.set(name, [...(texts.get(name) ?? []), contentOf(configMap)]);
  }
  return [...texts].map(([name, of]) => ({ name, value: hash(of.sort().join('\n')) }));
}

function contentOf({ data = {}, binaryData = {} }: ConfigMap): string {
  const entries = Object.entries({ ...data, ...binaryData }).map(([key, value]) => `${key}=${value}`);
  return entries.sort().join(';');
}

/** SHA-256 in base64url with padding, as Go's `base64.URLEncoding` writes it. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64').replaceAll('+', '-').replaceAll('/', '_');
}
