import { findResource } from '@gantry/kinds';
import { isReason, type KubeObject, type ResourceRef } from '@gantry/objects';
import { must } from '@gantry/base';
import { NOT_AUDITED } from './audit/index.ts';
import { APISERVER } from './auth/user.ts';
import {
  DELETE_AS_USUAL,
  type RegistryReader,
  type RegistryWriter,
  type RequestContext,
  type Target,
  deleteBody,
  jsonBody,
} from './registry/index.ts';

const WRITE = { dryRun: false, fieldManager: 'kube-apiserver', fieldValidation: 'Ignore' } as const;

/**
 * The apiserver as a client of its own registry. A conflict with a write of another apiserver or user is not an error: the method returns
 * undefined, and the caller reads the state again.
 */
export interface LoopbackClient {
  /** Reads from the cache ('cached') or from the store ('latest'). Undefined when the object does not exist. */
  get(
    ref: ResourceRef,
    key: ObjectName,
    freshness: 'cached' | 'latest',
    signal: AbortSignal,
  ): Promise<KubeObject | undefined>;
  /** Undefined when an object of this name already exists. */
  create(ref: ResourceRef, object: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** The object must have the resourceVersion at which it was read. Undefined when it has changed or was deleted since. */
  update(
    ref: ResourceRef,
    object: KubeObject,
    subresource: string,
    signal: AbortSignal,
  ): Promise<KubeObject | undefined>;
  /** Undefined when the object has changed or was deleted since it was read. */
  delete(ref: ResourceRef, object: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined>;
}

/** The name of an object within its resource. `namespace` is absent for cluster scope. */
export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export function createLoopbackClient(registry: RegistryReader & RegistryWriter): LoopbackClient {
  return {
    get: async (ref, key, freshness, signal) => {
      const resourceVersion = freshness === 'cached' ? '0' : '';
      const found = unless(['NotFound'], registry.get(loopbackContext(signal), targetOf(ref, key), resourceVersion));
      return (await found)?.object;
    },
    create: async (ref, object, signal) => {
      const target = { ...targetOf(ref, object.metadata), name: '' };
      const created = registry.create(loopbackContext(signal), target, jsonBody(object), WRITE);
      return (await unless(['AlreadyExists'], created))?.object;
    },
    update: async (ref, object, subresource, signal) => {
      const target = { ...targetOf(ref, object.metadata), subresource };
      const updated = registry.update(loopbackContext(signal), target, jsonBody(object), WRITE);
      return (await unless(['Conflict', 'NotFound'], updated))?.response.object;
    },
    delete: async (ref, object, signal) => {
      const { uid, resourceVersion } = object.metadata;
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      const body = deleteBody({ ...DELETE_AS_USUAL, preconditions });
      const deleted = registry.delete(loopbackContext(signal), targetOf(ref, object.metadata), body);
      return (await unless(['Conflict', 'NotFound'], deleted))?.response.object;
    },
  };
}

/** The context of a request of the apiserver itself. */
export function loopbackContext(signal: AbortSignal): RequestContext {
  return { user: APISERVER, signal, fence: undefined, warn: () => undefined, warnings: 'unread', audit: NOT_AUDITED };
}

/** Returns undefined when the request fails for one of these reasons. */
async function unless<T>(
  reasons: readonly ('AlreadyExists' | 'Conflict' | 'NotFound')[],
  request: Promise<T>,
): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (reasons.some((reason) => isReason(error, reason))) return undefined;
    throw error;
  }
}

function targetOf(ref: ResourceRef, { namespace = '', name = '' }: ObjectName): Target {
  return { definition: must(findResource(ref), ref.resource), namespace, name, subresource: '' };
}
