import { ignoreNotFound, type ObjectReader, type ObjectWriter } from '@gantry/client';
import { CONTROLLER_REVISIONS, type ControllerRevision, equalJson, isReason, keyOf } from '@gantry/objects';

/**
 * Creates a revision. One of that name with the same data is as good, as after a crash: it is returned. Undefined is a
 * collision: another template has the name, and the owner's `collisionCount` must be raised.
 */
export async function createRevision(
  client: Pick<ObjectWriter, 'create'> & Pick<ObjectReader, 'get'>,
  revision: ControllerRevision,
  signal: AbortSignal,
): Promise<ControllerRevision | undefined> {
  try {
    return await client.create(CONTROLLER_REVISIONS, revision, signal);
  } catch (error) {
    if (!isReason(error, 'AlreadyExists')) throw error;
    const existing = await client.get(CONTROLLER_REVISIONS, keyOf(revision), signal);
    return equalJson(existing.data, revision.data) ? existing : undefined;
  }
}

/** Makes a revision the newest again. A Conflict rejects: the history has to be read again. */
export async function renumberRevision(
  client: Pick<ObjectWriter, 'update'>,
  revision: ControllerRevision,
  number: number,
  signal: AbortSignal,
): Promise<ControllerRevision> {
  return await client.update(CONTROLLER_REVISIONS, { ...revision, revision: number }, signal);
}

/** Deletes a revision, no namesake of it. */
export async function deleteRevision(
  client: Pick<ObjectWriter, 'delete'>,
  revision: ControllerRevision,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = revision.metadata;
  await ignoreNotFound(client.delete(CONTROLLER_REVISIONS, keyOf(revision), { uid }, signal));
}
