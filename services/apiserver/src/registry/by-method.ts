import { PODS } from '@gantry/objects';
import { findResource } from '@gantry/kinds';
import { must } from '@gantry/base';
import { type Written, write } from './writing/pipeline.ts';
import { APPLY_PATCH_TYPE } from '@gantry/apimachinery';
import type { Body, Patch, WriteRequest } from './contract/registry.ts';
import { methodNotAllowed } from './contract/target.ts';
import type { WriteParts } from './writing/write.ts';
import { apply } from './verbs/apply.ts';
import { bind } from './verbs/bind.ts';
import { create } from './verbs/create.ts';
import { evict } from './verbs/evict.ts';
import { patch } from './verbs/patch.ts';
import { requestToken } from './verbs/request-token.ts';
import { review } from './verbs/review.ts';
import { applyScale, patchScale, updateScale } from './verbs/scale.ts';
import { update } from './verbs/update.ts';

/** POST: creates an object, or executes the operation of a subresource or of a kind that is not stored. */
export async function writePost(parts: WriteParts, request: WriteRequest, body: Body): Promise<Written> {
  const { definition, namespace, subresource } = request.target;
  if (subresource === '') {
    if (definition.group === '' && definition.resource === 'bindings') {
      const target = {
        definition: must(findResource(PODS), PODS.resource),
        namespace,
        name: '',
        subresource: 'binding',
      };
      const named = target.definition.subresources.find(({ name }) => name === target.subresource);
      return write(parts, bind, { ...request, target, subresource: named }, body);
    }
    return definition.stored ? write(parts, create, request, body) : write(parts, review, request, body);
  }
  switch (`${definition.resource}/${subresource}`) {
    case 'pods/binding':
      return write(parts, bind, request, body);
    case 'pods/eviction':
      return write(parts, evict, request, body);
    case 'serviceaccounts/token':
      return write(parts, requestToken, request, body);
    default:
      throw methodNotAllowed();
  }
}

/** PUT. */
export function writePut(parts: WriteParts, request: WriteRequest, body: Body): Promise<Written> {
  const hasScale = request.subresource?.scale !== undefined;
  return hasScale ? write(parts, updateScale, request, body) : write(parts, update, request, body);
}

/** PATCH of any type, including apply. */
export function writePatch(parts: WriteParts, request: WriteRequest, sent: Patch): Promise<Written> {
  const hasScale = request.subresource?.scale !== undefined;
  if (sent.type === APPLY_PATCH_TYPE) {
    return hasScale ? write(parts, applyScale, request, sent) : write(parts, apply, request, sent);
  }
  return hasScale ? write(parts, patchScale, request, sent) : write(parts, patch, request, sent);
}
