import { type Random, randomSuffix } from '@gantry/base';
import { ignoreNotFound, type ObjectClient, type ObjectWrite } from '@gantry/client';
import { isReason, type KubeObject } from '@gantry/objects';

/** What of a generated name a prefix may take, as in Kubernetes. */
const MAX_PREFIX = 58;

type Create = Extract<ObjectWrite, { verb: 'create' }>;

/**
 * Sends a write; one that creates an object with a generated name says the name itself. So the outcome of a create whose response was
 * lost can be read: tried again under another name, it would be there twice.
 */
export async function writeOnce(
  client: ObjectClient,
  write: ObjectWrite,
  random: Random,
  signal: AbortSignal,
): Promise<KubeObject> {
  if (!isUnnamed(write)) return client.write(write, signal);
  const { resource, namespace } = write;
  const name = `${write.object.metadata.generateName?.slice(0, MAX_PREFIX) ?? ''}${randomSuffix(random)}`;
  const object = { ...write.object, metadata: { ...write.object.metadata, name } };
  try {
    return await client.write({ ...write, object }, signal);
  } catch (error) {
    if (!isReason(error, 'Timeout')) throw error;
    const created = await ignoreNotFound(client.get(resource, { namespace, name }, signal));
    if (created === undefined) throw error;
    return created;
  }
}

function isUnnamed(write: ObjectWrite): write is Create {
  if (write.verb !== 'create' || write.subresource !== undefined || write.name !== undefined) return false;
  const { name = '', generateName = '' } = write.object.metadata;
  return name === '' && generateName !== '';
}
