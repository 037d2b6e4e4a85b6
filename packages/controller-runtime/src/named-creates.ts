import { type Random, randomSuffix } from '@gantry/base';
import { ignoreNotFound, type ObjectClient, type ObjectWrite, type WriteResult } from '@gantry/client';
import { isReason, type KubeObject, StatusError } from '@gantry/objects';

/** The maximum length of the prefix in a generated name, as in Kubernetes. */
const MAX_PREFIX = 58;

type Create = Extract<ObjectWrite, { verb: 'create' }>;

/** How writes are sent. */
export interface Sending {
  readonly client: ObjectClient;
  /** Chooses generated names. */
  readonly random: Random;
  /** Called with a write whose response was lost and whose outcome could not be read. A create has its generated name here. */
  readonly onUnknown: (write: ObjectWrite) => void;
}

/**
 * Sends a write. For a create with `generateName`, the client generates the name itself. So if the response is lost, the create can be read by
 * name and repeated under the same name; a retry under another name could create a second object.
 */
export async function writeOnce(sending: Sending, write: ObjectWrite, signal: AbortSignal): Promise<KubeObject> {
  const named = withName(write, sending.random);
  try {
    return await sending.client.write(named, signal);
  } catch (error) {
    const created = isReason(error, 'Timeout') ? await findCreated(sending, write, named, signal) : undefined;
    if (created === undefined) throw error;
    return created;
  }
}

/** Sends writes in one request, each as `writeOnce` does. */
export async function batchOnce(
  sending: Sending,
  writes: readonly ObjectWrite[],
  signal: AbortSignal,
): Promise<readonly WriteResult[]> {
  const named = writes.map((write) => withName(write, sending.random));
  const results = await sendAll(sending.client, named, signal);
  return await Promise.all(
    results.map(async (result, i): Promise<WriteResult> => {
      const [write, sent] = [writes[i], named[i]];
      if (result.ok || result.status.reason !== 'Timeout' || write === undefined || sent === undefined) return result;
      const object = await findCreated(sending, write, sent, signal);
      return object === undefined ? result : { ok: true, object };
    }),
  );
}

/** One result for each write, even if the response to the whole batch was lost. */
async function sendAll(
  client: ObjectClient,
  writes: readonly ObjectWrite[],
  signal: AbortSignal,
): Promise<readonly WriteResult[]> {
  try {
    return await client.batch(writes, signal);
  } catch (error) {
    if (!isReason(error, 'Timeout')) throw error;
    const status = error.toStatus();
    return writes.map(() => ({ ok: false, status }));
  }
}

/**
 * After a lost response: the object of a create with a generated name, or undefined. If its outcome cannot be known yet, the create is
 * reported to `onUnknown`. Deletions are reported too. Neither may be repeated in another form before its outcome is known.
 */
async function findCreated(
  { client, onUnknown }: Sending,
  write: ObjectWrite,
  named: ObjectWrite,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (write.verb === 'delete') onUnknown(write);
  if (!isUnnamed(write) || !isCreate(named)) return undefined;
  try {
    return await settleCreate(client, named, signal);
  } catch {
    // The caller reports the lost response.
    onUnknown(named);
    return undefined;
  }
}

/**
 * The object of a create whose response was lost. When a read does not find it, the create may still be on its way. So the same create is
 * sent again: of the two, the one that arrives second is rejected, because the name is taken. Undefined when the server refuses the second one
 * for another reason. Rejects when the outcome stays unknown.
 */
export async function settleCreate(
  client: ObjectClient,
  create: Create,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { resource, namespace, object } = create;
  const key = { namespace, name: object.metadata.name ?? '' };
  const found = await ignoreNotFound(client.get(resource, key, signal));
  if (found !== undefined) return found;
  try {
    return await client.write(create, signal);
  } catch (error) {
    if (isReason(error, 'AlreadyExists')) return await client.get(resource, key, signal);
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof StatusError && error.code >= 400 && error.code < 500 && error.reason !== 'TooManyRequests';
}

/** The same write. A create with `generateName` gets a generated name. */
function withName(write: ObjectWrite, random: Random): ObjectWrite {
  if (!isUnnamed(write)) return write;
  const { metadata } = write.object;
  const name = `${metadata.generateName?.slice(0, MAX_PREFIX) ?? ''}${randomSuffix(random)}`;
  return { ...write, object: { ...write.object, metadata: { ...metadata, name } } };
}

function isUnnamed(write: ObjectWrite): write is Create {
  if (!isCreate(write) || write.subresource !== undefined || write.name !== undefined) return false;
  const { name = '', generateName = '' } = write.object.metadata;
  return name === '' && generateName !== '';
}

function isCreate(write: ObjectWrite): write is Create {
  return write.verb === 'create';
}
