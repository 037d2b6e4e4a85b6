import { isUtf8 } from 'node:buffer';
import type { Container, EnvVar, FileKeySelector, Pod } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { type ConfigSource, rememberReads } from './config-source.ts';
import { envFileValue, parseEnvFile, unreadable } from './env-file.ts';
import { expand } from './expand.ts';
import { namedContainer, type NodeFacts, podField, resourceField } from './field-values.ts';
import { volumeNamed } from './pod-containers.ts';
import { ProgramSize } from './program-size.ts';
import { RecentReads } from './recent-reads.ts';

/** The sources of the variables' values. */
export interface EnvironmentContext {
  readonly pod: Pod;
  readonly podAddress: string;
  readonly facts: NodeFacts;
  readonly source: ConfigSource;
  /** The text of a file in a volume of the pod; undefined for a file that cannot be read. */
  readonly volumeText: (volume: string, path: string) => Promise<string | undefined>;
  /** Variables that every container gets; its own variables override them. */
  readonly base: Readonly<Record<string, string>>;
}

/** The variables of a container, counted as they are collected; replaced ones count, too, because they cost the same work. */
class Variables {
  readonly values = new Map<string, string>();
  readonly #size = new ProgramSize();

  set(name: string, value: string): void {
    this.#size.addVariable(name, Buffer.byteLength(value));
    this.values.set(name, value);
  }

  /** Counts a variable whose value is not valid, but was read. */
  note(name: string, size: number): void {
    this.#size.addVariable(name, size);
  }

  /** Sets a variable to an expanded text. */
  expand(name: string, text: string): void {
    this.values.set(
      name,
      expand(text, this.values, (bytes) => this.#size.addVariable(name, bytes)),
    );
  }
}

/**
 * A container's variables: the base, then `envFrom` in order, then `env` in order. Later variables override earlier ones, and `$(NAME)`
 * refers to earlier ones. AgentError 'CreateContainerConfigError' with the kubelet's message when a reference cannot be resolved, and with
 * the size when they are more than a program can get.
 */
export async function containerEnvironment(
  container: Container,
  sources: EnvironmentContext,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const context = { ...sources, source: rememberReads(sources.source), files: new RecentReads() };
  const variables = new Variables();
  for (const [name, value] of Object.entries(context.base)) variables.set(name, value);
  await addSources(variables, container, context, signal);
  for (const variable of container.env ?? []) {
    if (variable.valueFrom === undefined) {
      variables.expand(variable.name, variable.value ?? '');
      continue;
    }
    const value = await valueFrom(variable, variable.valueFrom, container, context, signal);
    if (value !== undefined) variables.set(variable.name, value);
  }
  return variables.values;
}

async function addSources(
  variables: Variables,
  container: Container,
  context: EnvironmentContext,
  signal: AbortSignal,
): Promise<void> {
  const replaced = new Set(
    (container.env ?? []).filter(({ valueFrom: from }) => from === undefined).map(({ name }) => name),
  );
  const invalid = new Map<string, unknown>();
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const references = [
      { kind: 'configmap' as const, reference: configMapRef },
      { kind: 'secret' as const, reference: secretRef },
    ];
    for (const { kind, reference } of references) {
      if (reference === undefined) continue;
      const name = reference.name ?? '';
      const data = await READ[kind](context, name, signal);
      if (data === undefined && reference.optional !== true) throw missing(kind, name);
      for (const key of data?.keys ?? []) {
        const variable = prefix + key;
        try {
          variables.set(variable, data?.value(key) ?? '');
          invalid.delete(variable);
        } catch (error) {
          variables.note(variable, data?.size(key) ?? 0);
          invalid.set(variable, error);
        }
      }
    }
  }
  // The container does not get an invalid value that `env` overrides.
  for (const [name, error] of invalid) if (!replaced.has(name)) throw error;
}

/** The value of one `valueFrom`; undefined for an optional reference without a value. */
async function valueFrom(
  { name: variable }: EnvVar,
  from: NonNullable<EnvVar['valueFrom']>,
  container: Container,
  context: EnvironmentContext & { readonly files: RecentReads },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { pod, podAddress, facts } = context;
  if (from.fieldRef !== undefined) {
    const value = podField(pod, from.fieldRef.fieldPath, podAddress, facts);
    if (value === undefined) throw config(`field label not supported: ${from.fieldRef.fieldPath}`);
    return value;
  }
  if (from.resourceFieldRef !== undefined) {
    const named = namedContainer(pod, from.resourceFieldRef, container);
    if (named === undefined) throw config(`container ${from.resourceFieldRef.containerName ?? ''} not found`);
    const value = resourceField(pod, named, from.resourceFieldRef, facts);
    if (value === undefined) throw config(`unsupported container resource : ${from.resourceFieldRef.resource}`);
    return value;
  }
  if (from.configMapKeyRef !== undefined) return keyValue('configmap', from.configMapKeyRef, context, signal);
  if (from.secretKeyRef !== undefined) return keyValue('secret', from.secretKeyRef, context, signal);
  if (from.fileKeyRef !== undefined) return fileValue(from.fileKeyRef, context, signal);
  throw config(`the source of variable ${variable} is not supported`);
}

type Kind = 'configmap' | 'secret';

const TITLE: Readonly<Record<Kind, string>> = { configmap: 'ConfigMap', secret: 'Secret' };

/** An object in the pod's namespace. Each value is checked when it is used, because a pod can refer to each of many keys. */
interface Values {
  readonly keys: readonly string[];
  /** Undefined for a key that does not exist. */
  readonly value: (key: string) => string | undefined;
  /** The length of the value as the object has it. */
  readonly size: (key: string) => number;
}

/** Reads an object; undefined when it does not exist. */
type ReadData = (context: EnvironmentContext, name: string, signal: AbortSignal) => Promise<Values | undefined>;

const READ: Readonly<Record<Kind, ReadData>> = {
  configmap: async ({ pod, source }, name, signal) => {
    const found = await source.configMap(pod.metadata.namespace ?? '', name, signal);
    if (found === undefined) return undefined;
    return valuesOf(found.data, (value, key) =>
      usable(value, 'configmap', key, `${pod.metadata.namespace ?? ''}/${name}`),
    );
  },
  secret: async ({ pod, source }, name, signal) => {
    const found = await source.secret(pod.metadata.namespace ?? '', name, signal);
    if (found === undefined) return undefined;
    return valuesOf(found.data, (value, key) =>
      usable(Buffer.from(value, 'base64'), 'secret', key, `${pod.metadata.namespace ?? ''}/${name}`),
    );
  },
};

async function keyValue(
  kind: Kind,
  { name = '', key, optional }: { readonly name?: string; readonly key: string; readonly optional?: boolean },
  context: EnvironmentContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  const data = await READ[kind](context, name, signal);
  const value = data?.value(key);
  if (value !== undefined || optional === true) return value;
  if (data === undefined) throw missing(kind, name);
  throw config(`couldn't find key ${key} in ${TITLE[kind]} ${context.pod.metadata.namespace ?? ''}/${name}`);
}

async function fileValue(
  { volumeName, path, key, optional }: FileKeySelector,
  { pod, volumeText, files }: EnvironmentContext & { readonly files: RecentReads },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (volumeNamed(pod, volumeName) === undefined) {
    throw config(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
  }
  const file = await files.get(`${volumeName}/${path}`, async () => {
    signal.throwIfAborted();
    const text = await volumeText(volumeName, path);
    if (text === undefined) throw unreadable();
    return parseEnvFile(text);
  });
  const value = envFileValue(file, key);
  if (value !== '') return value;
  if (optional === true) return undefined;
  throw config(`environment variable key "${key}" not found in file "${path}"`);
}

function valuesOf(data: Readonly<Record<string, string>> = {}, read: (value: string, key: string) => string): Values {
  return {
    get keys() {
      return Object.keys(data);
    },
    value: (key) => {
      const value = Object.hasOwn(data, key) ? data[key] : undefined;
      return value === undefined ? undefined : read(value, key);
    },
    size: (key) => data[key]?.length ?? 0,
  };
}

/**
 * The text of a value for a variable. The engine accepts only text, and the kernel no NUL. Without this check, other bytes would be
 * changed, or appear in an error message of the engine. The error here contains no part of the value.
 */
function usable(value: string | Buffer, kind: Kind, key: string, object: string): string {
  const isText = typeof value === 'string' || isUtf8(value);
  const text = value.toString();
  if (isText && !text.includes('\0')) return text;
  const fault = isText ? 'contains a NUL' : 'is not UTF-8 text';
  throw config(
    `key ${key} in ${TITLE[kind]} ${object} ${fault}, which no environment variable can have: mount it as a file`,
  );
}

function missing(kind: Kind, name: string): AgentError {
  return config(`${kind} "${name}" not found`);
}

function config(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}
