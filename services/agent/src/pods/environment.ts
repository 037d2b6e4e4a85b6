import type { ConfigMap, Container, EnvVar, Pod, Secret } from '@gantry/api';
import { AgentError } from '../agent-error.ts';
import { expand } from './expand.ts';
import { type NodeFacts, podField, resourceField } from './field-values.ts';

/** ConfigMaps and Secrets of a pod's namespace; undefined when there is none of that name. */
export interface ConfigSource {
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
}

export interface EnvironmentContext {
  readonly pod: Pod;
  readonly podAddress: string;
  readonly facts: NodeFacts;
  readonly source: ConfigSource;
  /** Variables that every container gets before its own. */
  readonly base: Readonly<Record<string, string>>;
}

/**
 * A container's variables: the base, then `envFrom` in order, then `env` in order, later ones winning; `$(NAME)` sees what
 * stands before it. AgentError 'CreateContainerConfigError' with kubelet's words when something referred to is missing.
 */
export async function containerEnvironment(
  container: Container,
  context: EnvironmentContext,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const variables = new Map(Object.entries(context.base));
  for (const [name, value] of await fromSources(container, context, signal)) variables.set(name, value);
  for (const variable of container.env ?? []) {
    const value = await valueOf(variable, container, context, variables, signal);
    if (value !== undefined) variables.set(variable.name, value);
  }
  return variables;
}

async function fromSources(
  container: Container,
  { pod, source }: EnvironmentContext,
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> {
  const namespace = pod.metadata.namespace ?? '';
  const out: (readonly [string, string])[] = [];
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef !== undefined) {
      const name = configMapRef.name ?? '';
      const found = await source.configMap(namespace, name, signal);
      if (found === undefined && configMapRef.optional !== true) throw missing('configmap', name);
      for (const [key, value] of Object.entries(found?.data ?? {})) out.push([prefix + key, value]);
    }
    if (secretRef !== undefined) {
      const name = secretRef.name ?? '';
      const found = await source.secret(namespace, name, signal);
      if (found === undefined && secretRef.optional !== true) throw missing('secret', name);
      for (const [key, value] of Object.entries(found?.data ?? {})) out.push([prefix + key, decode(value)]);
    }
  }
  return out;
}

async function valueOf(
  variable: EnvVar,
  container: Container,
  context: EnvironmentContext,
  variables: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { pod, podAddress, facts, source } = context;
  const namespace = pod.metadata.namespace ?? '';
  const from = variable.valueFrom;
  if (from === undefined) return expand(variable.value ?? '', variables);
  if (from.fieldRef !== undefined) {
    const value = podField(pod, from.fieldRef.fieldPath, podAddress, facts);
    if (value === undefined) throw config(`field label not supported: ${from.fieldRef.fieldPath}`);
    return value;
  }
  if (from.resourceFieldRef !== undefined) {
    const { containerName } = from.resourceFieldRef;
    const other = pod.spec?.containers.find((candidate) => candidate.name === containerName);
    return resourceField(other ?? container, from.resourceFieldRef, facts);
  }
  if (from.configMapKeyRef !== undefined) {
    const { name = '', key, optional } = from.configMapKeyRef;
    const found = await source.configMap(namespace, name, signal);
    const value = found?.data?.[key];
    if (value !== undefined || optional === true) return value;
    throw found === undefined
      ? missing('configmap', name)
      : config(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
  }
  if (from.secretKeyRef !== undefined) {
    const { name = '', key, optional } = from.secretKeyRef;
    const found = await source.secret(namespace, name, signal);
    const value = found?.data?.[key];
    if (value !== undefined) return decode(value);
    if (optional === true) return undefined;
    throw found === undefined
      ? missing('secret', name)
      : config(`couldn't find key ${key} in Secret ${namespace}/${name}`);
  }
  throw config(`the source of variable ${variable.name} is not supported`);
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}

function missing(kind: 'configmap' | 'secret', name: string): AgentError {
  return config(`${kind} "${name}" not found`);
}

function config(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}

/** The variables that name the API server's Service, which every pod gets. */
export function apiServerVariables(address: string, port: number): Readonly<Record<string, string>> {
  const url = `tcp://${address}:${port}`;
  return {
    KUBERNETES_SERVICE_HOST: address,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    KUBERNETES_PORT: url,
    [`KUBERNETES_PORT_${port}_TCP`]: url,
    [`KUBERNETES_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`KUBERNETES_PORT_${port}_TCP_PORT`]: String(port),
    [`KUBERNETES_PORT_${port}_TCP_ADDR`]: address,
  };
}

/** The first address of the Services' range: the API server's own Service has it. */
export function firstServiceAddress(cidr: string): string {
  const [a, b, c, d] = (cidr.split('/')[0] ?? '').split('.');
  return [a, b, c, Number(d) + 1].join('.');
}
