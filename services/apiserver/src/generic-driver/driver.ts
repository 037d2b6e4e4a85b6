import { type JsonObject, type KubeObject, StatusError, type Verb } from '@gantry/api';
import { errorMessage } from '@gantry/base';
import { type Access, createAdmissionChecks } from '../admission/index.ts';
import { createAllocators } from '../allocators/index.ts';
import { objectKey } from '../cache/index.ts';
import type { Answer, Driver, RequestContext, Target } from '../driver.ts';
import { AdmissionChain } from './admission-chain.ts';
import { ChangeWriter } from './change-writer.ts';
import { Committer } from './committer.ts';
import { ComponentStatuses, isComponentStatus } from './component-statuses.ts';
import { CreateWriter } from './create-writer.ts';
import { DeleteWriter } from './delete-writer.ts';
import type { DriverDependencies } from './dependencies.ts';
import { EvictionWriter } from './eviction-writer.ts';
import { chargeWith } from './quota-charges.ts';
import { Reader } from './reader.ts';
import { cachedServices, createWebhookCaller } from '../webhook-client/index.ts';
import { toStatusError } from './store-errors.ts';
import { SubresourceWriter } from './subresource-writer.ts';
import { isProxy, isStream, streamOptions, streamRefusal } from './subresources/streams.ts';
import { requireSubresource } from './target.ts';
import { UpdateWriter } from './update-writer.ts';

const UNLIMITED: Access = {
  decide: () => ({ allowed: true, reason: '' }),
  decidePath: () => ({ allowed: true, reason: '' }),
};

/** The driver over a store and a watch cache that is running. */
export function createDriver(deps: DriverDependencies): Driver {
  const { settings } = deps;
  const checks = createAdmissionChecks({
    ...deps,
    access: deps.access ?? UNLIMITED,
    charge: chargeWith(() => committer),
    caller: createWebhookCaller({ ...deps, objects: cachedServices(deps.cache) }),
    defaultTolerationSeconds: settings.defaultTolerationSeconds,
  });
  const admission = new AdmissionChain(checks, deps);
  const allocators = createAllocators({ ...deps, serviceCidr: settings.serviceCidr });
  const reader = new Reader(deps);
  const components = new ComponentStatuses(deps);
  const committer = new Committer(deps.store, reader, (of, version) => admission.noteWrite(of, version));
  const parts = { admission, allocators, committer, reader };
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

  const connect = async (
    ...[context, target, verb, options]: Parameters<Driver['connect']>
  ): Promise<KubeObject | undefined> => {
    const { definition, namespace, name } = target;
    const entry = await reader.fromStore(objectKey(definition, namespace, name), context.signal);
    const object = entry?.answer.object;
    deps.authorizer.authorize(context.user, verb, target, object as unknown as JsonObject | undefined);
    await admission.connect(context, target, options);
    return object;
  };
  const refuse = async (context: RequestContext, target: Target, verb: Verb): Promise<never> => {
    throw streamRefusal(target, await connect(context, target, verb, streamOptions(target, new URLSearchParams())));
  };

  const driver: Driver = {
    connect: (context, target, verb, options) =>
      settle(context.signal, async () => {
        const object = await connect(context, target, verb, options);
        if (!isProxy(target)) throw streamRefusal(target, object);
      }),
    get: (context, target, resourceVersion) =>
      settle(context.signal, () =>
        (isComponentStatus(target.definition) ? components : reader).get(context, target, resourceVersion),
      ),
    list: (context, definition, request) =>
      settle(context.signal, () =>
        (isComponentStatus(definition) ? components : reader).list(context, definition, request),
      ),
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
  return { ...driver, ...withoutStreams(driver, refuse) };
}

/** What asks for objects, for all but streams. */
function withoutStreams(
  driver: Driver,
  refuse: (context: RequestContext, target: Target, verb: Verb) => Promise<never>,
): Pick<Driver, 'get' | 'create' | 'update' | 'patch' | 'delete'> {
  const guarded =
    <Args extends unknown[], T>(
      verb: Verb,
      work: (context: RequestContext, target: Target, ...args: Args) => Promise<T>,
    ) =>
    (context: RequestContext, target: Target, ...args: Args): Promise<T> =>
      isStream(target) ? settle(context.signal, () => refuse(context, target, verb)) : work(context, target, ...args);
  return {
    get: guarded('get', driver.get),
    create: guarded('create', driver.create),
    update: guarded('update', driver.update),
    patch: guarded('patch', driver.patch),
    delete: guarded('delete', driver.delete),
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
