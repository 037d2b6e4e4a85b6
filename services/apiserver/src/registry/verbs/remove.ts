import { DeletedObject } from '../drafts/deleted-object.ts';
import type { DeleteBody, DeleteOptions } from '../contract/registry.ts';
import type { WriteVerb } from '../writing/write.ts';

/** DELETE of an object. */
export const remove: WriteVerb<DeleteBody, DeleteOptions> = {
  right: 'delete',
  startsFrom: 'stored',
  decode: async (request, body) => {
    const { options, dryRun } = await body.read();
    return { sent: options, options: { ...request.options, dryRun } };
  },
  draft: (parts, attempt) =>
    attempt.stored === undefined ? undefined : new DeletedObject(parts, attempt, attempt.stored),
};
