import type { Verb } from './resource-definition.ts';

/** The verbs of an ordinary stored resource. */
export const STORED_VERBS: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** The verbs of a subresource that updates a part of its parent. */
export const PART_VERBS: readonly Verb[] = ['get', 'patch', 'update'];

/** The verbs of a subresource that passes requests on, whatever their method. */
export const PROXY_VERBS: readonly Verb[] = ['create', 'delete', 'get', 'patch', 'update'];
