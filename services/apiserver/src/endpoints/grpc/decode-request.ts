import { APPLY_PATCH_TYPE, type ResourceDefinition } from '@gantry/apimachinery';
import { StatusError } from '@gantry/objects';
import type { Fence as FenceMessage, ResourceRef, Write } from '@gantry/proto';
import type { ResourceRegistry } from '../../resource-registry.ts';
import type { DeleteOptions, RequestContext, Target, WriteOptions } from '../../registry/index.ts';

const MAX_MANAGER_LENGTH = 128;
const POLICIES = ['Orphan', 'Background', 'Foreground'] as const;

/** Finds the resource of a request. Throws NotFound if it is not served. */
export function decodeResource(ref: ResourceRef | undefined, resourceRegistry: ResourceRegistry): ResourceDefinition {
  const definition =
    ref === undefined
      ? undefined
      : resourceRegistry.find({ group: ref.group, version: ref.version, resource: ref.resource });
  if (definition === undefined) {
    throw new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });
  }
  return definition;
}

/** The target of a write: an object or a subresource. */
export function decodeTarget(write: Write, resourceRegistry: ResourceRegistry): Target {
  const definition = decodeResource(write.resource, resourceRegistry);
  const target = { definition, namespace: write.namespace, name: write.name, subresource: write.subresource };
  checkScope(definition, write.namespace);
  const isCollection = write.verb === 'create' && write.subresource === '';
  if (!isCollection && write.name === '') throw StatusError.badRequest('name is required');
  return target;
}

/** Throws BadRequest unless namespaced objects have a namespace and others have none. */
export function checkScope(definition: ResourceDefinition, namespace: string): void {
  if (definition.namespaced === (namespace !== '')) return;
  throw StatusError.badRequest(
    definition.namespaced
      ? `${definition.resource}: an empty namespace may not be set when a resource name is provided`
      : `${definition.resource} are of cluster scope and have no namespace`,
  );
}

export function decodeWriteOptions(write: Write): WriteOptions {
  if (write.fieldManager.length > MAX_MANAGER_LENGTH) {
    throw StatusError.badRequest(`fieldManager: may not be more than ${MAX_MANAGER_LENGTH} characters`);
  }
  const fieldManager = write.fieldManager === '' ? 'unknown' : write.fieldManager;
  // Internal services always apply with force.
  const force = write.patchType === APPLY_PATCH_TYPE ? { force: true } : {};
  return { dryRun: write.dryRun, fieldManager, fieldValidation: 'Strict', ...force };
}

/** The fence of a write. Throws for numbers that are not possible revisions. */
export function decodeFence(fence: FenceMessage | undefined): RequestContext['fence'] {
  if (fence === undefined) return undefined;
  const epoch = Number(fence.epoch);
  const cacheRevision = Number(fence.cacheRevision);
  if (!Number.isSafeInteger(epoch) || epoch <= 0 || !Number.isSafeInteger(cacheRevision)) {
    throw StatusError.badRequest('fence: not a revision');
  }
  return { electionKey: fence.electionKey, epoch, incarnation: fence.incarnation, cacheRevision };
}

/** Decodes DeleteOptions from JSON. An empty body means all defaults. */
export function decodeDeleteOptions(body: Uint8Array): DeleteOptions {
  const raw = body.length === 0 ? {} : parseObject(body);
  const { gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = raw;
  if (gracePeriodSeconds !== undefined && !Number.isSafeInteger(gracePeriodSeconds)) throw wrong('gracePeriodSeconds');
  const policy = POLICIES.find((candidate) => candidate === propagationPolicy);
  if (propagationPolicy !== undefined && policy === undefined) throw wrong('propagationPolicy');
  if (orphanDependents !== undefined && typeof orphanDependents !== 'boolean') throw wrong('orphanDependents');
  return {
    gracePeriodSeconds: gracePeriodSeconds as number | undefined,
    preconditions: decodePreconditions(preconditions),
    propagationPolicy: policy,
    orphanDependents,
  };
}

function decodePreconditions(value: unknown): DeleteOptions['preconditions'] {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object') throw wrong('preconditions');
  const { uid, resourceVersion } = value as { uid?: unknown; resourceVersion?: unknown };
  if (uid !== undefined && typeof uid !== 'string') throw wrong('preconditions.uid');
  if (resourceVersion !== undefined && typeof resourceVersion !== 'string')
    throw wrong('preconditions.resourceVersion');
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}

function parseObject(body: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    // The message of the parser is not needed, since only Gantry's services call this.
    throw StatusError.badRequest('DeleteOptions: not JSON');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw StatusError.badRequest('DeleteOptions: not an object');
  }
  return value as Record<string, unknown>;
}

function wrong(field: string): StatusError {
  return StatusError.badRequest(`DeleteOptions.${field}: wrong type or value`);
}
