import { ignoreNotFound, type ObjectReader, type ObjectWriter } from '@gantry/client';
import { CONTROLLER_REVISIONS, type ControllerRevision, equalJson, isReason, keyOf } from '@gantry/objects';

/**
 * Creates a revision. If one with that name and the same data exists, as after a crash, returns that. Returns undefined for a collision:
 * another template has the name, and the owner's `collisionCount` must be raised.
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

/** Makes a revision the newest again. Rejects with Conflict if it has changed: the history must be read again. */
export async function renumberRevision(
  client: Pick<ObjectWriter, 'update'>,
  revision: ControllerRevision,
  number: number,
  signal: AbortSignal,
): Promise<ControllerRevision> {
  return await client.update(CONTROLLER_REVISIONS, { ...revision, revision: number }, signal);
}

/** Deletes a revision by uid, so that another one with the same name is kept. */
export async function deleteRevision(
  client: Pick<ObjectWriter, 'delete'>,
  revision: ControllerRevision,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = revision.metadata;
  await ignoreNotFound(client.delete(CONTROLLER_REVISIONS, keyOf(revision), { uid }, signal));
}
