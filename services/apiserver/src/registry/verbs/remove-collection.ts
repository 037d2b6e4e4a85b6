import type { ResourceDefinition } from '@gantry/apimachinery';
import { isReason } from '@gantry/objects';
import { authoriseFence, fenceOf } from '../writing/fences.ts';
import { carryOut } from '../writing/pipeline.ts';
import {
  type DeleteBody,
  type DeleteOptions,
  type ListRequest,
  type ListResponse,
  NO_WRITE_OPTIONS,
  type RequestContext,
} from '../contract/registry.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { WriteParts } from '../writing/write.ts';
import { remove } from './remove.ts';

/** Maximum number of concurrent deletes of a collection. */
const PARALLEL = 16;

interface Collection {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly list: ListRequest;
}

/** DELETE of a collection: one authorisation check, then one delete per object. Returns the objects as they were before. */
export async function removeCollection(
  parts: WriteParts,
  collection: Collection,
  body: DeleteBody,
): Promise<ListResponse> {
  const { context, definition, list } = collection;
  const target = { definition, namespace: list.namespace, name: '', subresource: '' };
  authoriseFence(parts.deps, context);
  parts.deps.authorizer.authorize(context, 'deletecollection', target, undefined, list.fieldSelector);
  const deletion = await body.read();
  const listed = await parts.reader.select(context, definition, list);
  const { items } = listed;
  for (let at = 0; at < items.length; at += PARALLEL) {
    await Promise.all(
      items.slice(at, at + PARALLEL).map((item) => removeListed(parts, collection, { item, ...deletion })),
    );
  }
  return listed;
}

/** Deletes one object of a collection. It may have been deleted since it was listed. */
async function removeListed(
  parts: WriteParts,
  { context, definition }: Collection,
  { item, options, dryRun }: { item: ObjectResponse; options: DeleteOptions; dryRun: boolean },
): Promise<void> {
  const { namespace = '', name = '', uid = '' } = item.object.metadata;
  try {
    await carryOut(parts, remove, {
      context,
      target: { definition, namespace, name, subresource: '' },
      subresource: undefined,
      options: { ...NO_WRITE_OPTIONS, dryRun },
      sent: { ...options, preconditions: { uid, ...options.preconditions } },
      fence: fenceOf(context, definition, name, 'delete'),
      rights: 'granted',
    });
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}
