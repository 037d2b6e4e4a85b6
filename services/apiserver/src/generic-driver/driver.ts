import { StatusError } from '@gantry/api';
import { errorMessage } from '@gantry/base';
import { createAdmissionChecks } from '../admission/index.ts';
import { createAllocators } from '../allocators/index.ts';
import type { Answer, Driver } from '../driver.ts';
import { AdmissionChain } from './admission-chain.ts';
import { ChangeWriter } from './change-writer.ts';
import { Committer } from './committer.ts';
import { CreateWriter } from './create-writer.ts';
import { DeleteWriter } from './delete-writer.ts';
import type { DriverDependencies } from './dependencies.ts';
import { EvictionWriter } from './eviction-writer.ts';
import { Reader } from './reader.ts';
import { cachedServices, createWebhookCaller } from '../webhook-client/index.ts';
import { toStatusError } from './store-errors.ts';
import { SubresourceWriter } from './subresource-writer.ts';
import { requireSubresource } from './target.ts';
import { UpdateWriter } from './update-writer.ts';

/** The driver over a store and a watch cache that is running. */
export function createDriver(deps: DriverDependencies): Driver {
  const { settings } = deps;
  const checks = createAdmissionChecks({
    ...deps,
    caller: createWebhookCaller({ ...deps, objects: cachedServices(deps.cache) }),
    defaultTolerationSeconds: settings.defaultTolerationSeconds,
  });
  const admission = new AdmissionChain(checks, deps);
  const allocators = createAllocators({ ...deps, serviceCidr: settings.serviceCidr });
  const reader = new Reader(deps);
  const parts = {
    admission,
    allocators,
    committer: new Committer(deps.store, reader, (of, version) => admission.noteWrite(of, version)),
    reader,
  };
  const creates = new CreateWriter(deps, parts);
  const changes = new ChangeWriter(deps, parts);
  const updates = new UpdateWriter(deps, { changes, creates });
  const deletes = new DeleteWriter(deps, parts);
  const subresources = new SubresourceWriter(deps, {
    admission,
    changes,
    evictions: new EvictionWriter(deps, { ...parts, deletes }),
  });

  const create: Driver['create'] = async (context, target, body, options): Promise<Answer> => {
    const { definition, subresource } = target;
    if (subresource !== '') {
      requireSubresource(target, 'create');
      return subresources.create(context, target, body, options);
    }
    if (definition.group === '' && definition.resource === 'bindings') {
      return subresources.createBinding(context, target, body, options);
    }
    return creates.create(context, target, body, options);
  };

  return {
    get: (context, target, resourceVersion) =>
      settle(context.signal, () => reader.get(context, target, resourceVersion)),
    list: (context, definition, request) => settle(context.signal, () => reader.list(context, definition, request)),
    watch: (context, definition, request) => settle(context.signal, () => reader.watch(context, definition, request)),
    create: (context, target, body, options) => settle(context.signal, () => create(context, target, body, options)),
    update: (context, target, body, options) =>
      settle(context.signal, () => updates.update(context, target, body, options)),
    patch: (context, target, patch, patchType, options) =>
      settle(context.signal, () => updates.patch(context, target, patch, patchType, options)),
    delete: (context, target, options, write) =>
      settle(context.signal, () => deletes.delete(context, target, options, write)),
    deleteCollection: (context, definition, list, options, write) =>
      settle(context.signal, () => deletes.deleteCollection(context, definition, list, options, write)),
  };
}

/** Lets nothing but StatusErrors out. */
async function settle<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const told = toStatusError(error);
    if (told instanceof StatusError) throw told;
    if (signal.aborted && error === signal.reason) {
      throw StatusError.timeout('the request was given up before its outcome was known');
    }
    throw new StatusError('InternalError', `Internal error occurred: ${errorMessage(error)}`, {
      details: { causes: [{ message: errorMessage(error) }] },
    });
  }
}
