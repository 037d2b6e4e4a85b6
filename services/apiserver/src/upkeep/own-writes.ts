import { findResource, isReason, type KubeObject, type ResourceRef } from '@gantry/api';
import { must } from '@gantry/base';
import { SELF } from '../bootstrap/index.ts';
import { DELETE_AS_USUAL, type Driver, type RequestContext, type Target } from '../driver.ts';

const WRITE = { dryRun: false, fieldManager: 'kube-apiserver', fieldValidation: 'Ignore' } as const;

/**
 * Objects that the apiservers keep themselves. That another apiserver has done the same first, or that the object has changed or
 * gone since it was read, is no failure: who keeps it looks again then.
 */
export interface OwnWrites {
  create(ref: ResourceRef, object: KubeObject, signal: AbortSignal): Promise<void>;
  /** The object carries the version that it was read at. */
  update(ref: ResourceRef, object: KubeObject, subresource: string, signal: AbortSignal): Promise<void>;
  delete(ref: ResourceRef, object: KubeObject, signal: AbortSignal): Promise<void>;
}

export function createOwnWrites(driver: Driver): OwnWrites {
  return {
    create: async (ref, object, signal) => {
      const target = { ...targetOf(ref, object), name: '' };
      await tolerating(['AlreadyExists'], () => driver.create(contextOf(signal), target, bodyOf(object), WRITE));
    },
    update: async (ref, object, subresource, signal) => {
      const target = { ...targetOf(ref, object), subresource };
      await tolerating(['Conflict', 'NotFound'], () => driver.update(contextOf(signal), target, bodyOf(object), WRITE));
    },
    delete: async (ref, object, signal) => {
      const { uid, resourceVersion } = object.metadata;
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      const options = { ...DELETE_AS_USUAL, preconditions };
      await tolerating(['Conflict', 'NotFound'], () =>
        driver.delete(contextOf(signal), targetOf(ref, object), options, WRITE),
      );
    },
  };
}

async function tolerating(
  reasons: readonly ('AlreadyExists' | 'Conflict' | 'NotFound')[],
  write: () => Promise<unknown>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!reasons.some((reason) => isReason(error, reason))) throw error;
  }
}

function targetOf(ref: ResourceRef, { metadata }: KubeObject): Target {
  const definition = must(findResource(ref), ref.resource);
  return { definition, namespace: metadata.namespace ?? '', name: metadata.name ?? '', subresource: '' };
}

function bodyOf(object: KubeObject) {
  return { bytes: new TextEncoder().encode(JSON.stringify(object)), mediaType: 'application/json' } as const;
}

function contextOf(signal: AbortSignal): RequestContext {
  return { user: SELF, signal, fence: undefined, warn: () => undefined };
}
