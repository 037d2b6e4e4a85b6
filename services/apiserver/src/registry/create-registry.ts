import type { Verb } from '@gantry/apimachinery';
import { type JsonObject, type KubeObject, StatusError } from '@gantry/objects';
import { errorMessage } from '@gantry/base';
import { createAdmissionChecks } from '../admission/index.ts';
import { createAllocators } from '../allocators/index.ts';
import { objectKey } from '../cache/index.ts';
import { NO_WRITE_OPTIONS, type Registry, type RequestContext, type Target } from './contract/registry.ts';
import { write } from './writing/pipeline.ts';
import { writePatch, writePost, writePut } from './by-method.ts';
import { remove } from './verbs/remove.ts';
import { removeCollection } from './verbs/remove-collection.ts';
import type { WriteParts } from './writing/write.ts';
import { AdmissionChain } from './writing/admission-chain.ts';
import { Committer } from './writing/committer.ts';
import { ComponentStatuses, isComponentStatus } from './reading/component-statuses.ts';
import type { RegistryDependencies } from './contract/dependencies.ts';
import { LeaseTerms } from './writing/lease-terms.ts';
import { createQuotaCharges } from './writing/quota-charges.ts';
import { Reader } from './reading/reader.ts';
import { isUsageMetrics, UsageMetrics } from './reading/usage-metrics.ts';
import { toStatusError } from '../storage/store-errors.ts';
import { isProxy, isStream, streamOptions, streamRefusal } from './subresources/streams.ts';
import { requireSubresource } from './contract/target.ts';
import { WrittenRevision } from './writing/written-revision.ts';

/** Creates the registry from a store and a running watch cache. */
export function createRegistry(deps: RegistryDependencies): Registry {
  const { settings } = deps;
  const reader = new Reader(deps);
  const written = new WrittenRevision();
  const committer = new Committer(deps.store, reader, new LeaseTerms(deps.cache, reader), written);
  const checks = createAdmissionChecks({
    ...deps,
    access: deps.authorizer,
    quotaCharges: createQuotaCharges(committer, deps.store),
    caller: deps.webhookCaller,
    defaultTolerationSeconds: settings.defaultTolerationSeconds,
    podSecurityExemptions: settings.podSecurityExemptions,
  });
  const admission = new AdmissionChain(checks, deps, written);
  const allocators = createAllocators({ ...deps, serviceCidr: settings.serviceCidr });
  const components = new ComponentStatuses(deps);
  const metrics = new UsageMetrics(deps);
  const readerOf = (definition: Target['definition']) => {
    if (isUsageMetrics(definition)) return metrics;
    return isComponentStatus(definition) ? components : reader;
  };
  const parts: WriteParts = { deps, admission, allocators, committer, reader };

  const connect = async (
    ...[context, target, verb, options]: Parameters<Registry['connect']>
  ): Promise<KubeObject | undefined> => {
    const { definition, namespace, name } = target;
    const entry = await reader.fromStore(objectKey(definition, namespace, name), context.signal);
    const object = entry?.response.object;
    deps.authorizer.authorize(context, verb, target, object as JsonObject | undefined);
    // A WebSocket starts with GET. The right to read must not allow running commands, so the right to create is required.
    if (!isProxy(target) && verb !== 'create') deps.authorizer.authorize(context, 'create', target, undefined);
    await admission.connect(context, target, options);
    return object;
  };
  const refuse = async (context: RequestContext, target: Target, verb: Verb): Promise<never> => {
    throw streamRefusal(target, await connect(context, target, verb, streamOptions(target, new URLSearchParams())));
  };

  const registry: Registry = {
    connect: (context, target, verb, options) =>
      onlyStatusErrors(context, async () => {
        await connect(context, target, verb, options);
      }),
    get: (context, target, resourceVersion) =>
      onlyStatusErrors(context, () => readerOf(target.definition).get(context, target, resourceVersion)),
    list: (context, definition, request) =>
      onlyStatusErrors(context, () => readerOf(definition).list(context, definition, request)),
    watch: (context, definition, request) =>
      onlyStatusErrors(context, () => reader.watch(context, definition, request)),
    ...writesOf(parts),
  };
  return { ...registry, ...withoutStreams(registry, refuse) };
}

type Writes = Pick<Registry, 'create' | 'update' | 'patch' | 'delete' | 'deleteCollection'>;

function writesOf(parts: WriteParts): Writes {
  return {
    create: (context, target, body, options) =>
      onlyStatusErrors(context, async () => {
        const subresource = requireSubresource(target, 'create');
        return (await writePost(parts, { context, target, options, subresource }, body)).response;
      }),
    update: (context, target, body, options) =>
      onlyStatusErrors(context, async () => {
        const subresource = requireSubresource(target, 'update');
        const { response, effect } = await writePut(parts, { context, target, options, subresource }, body);
        return { response, created: effect === 'created' };
      }),
    patch: (context, target, sent, options) =>
      onlyStatusErrors(context, async () => {
        const subresource = requireSubresource(target, 'patch');
        const { response, effect } = await writePatch(parts, { context, target, options, subresource }, sent);
        return { response, created: effect === 'created' };
      }),
    delete: (context, target, body) =>
      onlyStatusErrors(context, async () => {
        const request = { context, target, options: NO_WRITE_OPTIONS, subresource: undefined };
        const { response, effect } = await write(parts, remove, request, body);
        return { response, gone: effect === 'removed' };
      }),
    deleteCollection: (context, definition, list, body) =>
      onlyStatusErrors(context, () => removeCollection(parts, { context, definition, list }, body)),
  };
}

/** A registry whose methods for objects reject targets that are streams. */
function withoutStreams(
  registry: Registry,
  refuse: (context: RequestContext, target: Target, verb: Verb) => Promise<never>,
): Pick<Registry, 'get' | 'create' | 'update' | 'patch' | 'delete'> {
  const guarded =
    <Args extends unknown[], T>(
      verb: Verb,
      work: (context: RequestContext, target: Target, ...args: Args) => Promise<T>,
    ) =>
    (context: RequestContext, target: Target, ...args: Args): Promise<T> =>
      isStream(target)
        ? onlyStatusErrors(context, () => refuse(context, target, verb))
        : work(context, target, ...args);
  return {
    get: guarded('get', registry.get),
    create: guarded('create', registry.create),
    update: guarded('update', registry.update),
    patch: guarded('patch', registry.patch),
    delete: guarded('delete', registry.delete),
  };
}

/** Converts every error of the work to a StatusError. */
async function onlyStatusErrors<T>({ signal }: RequestContext, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const status = toStatusError(error);
    if (status instanceof StatusError) throw status;
    if (signal.aborted && error === signal.reason) {
      throw StatusError.timeout('the request was given up before its outcome was known');
    }
    throw new StatusError('InternalError', `Internal error occurred: ${errorMessage(error)}`, {
      details: { causes: [{ message: errorMessage(error) }] },
    });
  }
}
