import { isNamespaceTerminating, type ObjectClient, type ObjectWrite } from '@gantry/client';
import { ENDPOINT_SLICES, keyOf, type KubeObject, StatusError } from '@gantry/objects';
import type { SliceMeter } from '../../metrics/endpoint-slices.ts';
import type { SliceAction } from './slices.ts';

/** The last versions of slices that this process wrote, so that its own changes queue nothing. */
export class OwnSlices {
  readonly #versions = new Map<string, string>();

  /** Whether this process wrote the version. Forgets a slice if a later version was written by others. */
  isOwnWrite({ metadata }: KubeObject): boolean {
    const { uid = '', resourceVersion = '' } = metadata;
    const own = this.#versions.get(uid);
    if (own === undefined) return false;
    if (own !== resourceVersion) this.#versions.delete(uid);
    return own === resourceVersion;
  }

  note({ metadata }: KubeObject): void {
    this.#versions.set(metadata.uid ?? '', metadata.resourceVersion ?? '');
  }

  forget({ metadata }: KubeObject): void {
    this.#versions.delete(metadata.uid ?? '');
  }

  clear(): void {
    this.#versions.clear();
  }
}

/** The context for writing slices. */
interface SliceHands {
  readonly client: ObjectClient;
  readonly own: OwnSlices;
  readonly meter: Pick<SliceMeter, 'changed'>;
  /** The owner of the slices, for errors: `Service <namespace>/<name>`. */
  readonly owner: string;
}

/**
 * Executes actions on slices: creations and updates in one batch, then deletions in another. Rejects with the first error after all were
 * tried. A slice that is already gone and a terminating namespace are not errors.
 */
export async function writeSlices(
  actions: readonly SliceAction[],
  hands: SliceHands,
  signal: AbortSignal,
): Promise<void> {
  const deletions = actions.filter(({ kind }) => kind === 'delete');
  await writeAll(
    actions.filter(({ kind }) => kind !== 'delete'),
    hands,
    signal,
  );
  await writeAll(deletions, hands, signal);
}

async function writeAll(actions: readonly SliceAction[], hands: SliceHands, signal: AbortSignal): Promise<void> {
  if (actions.length === 0) return;
  const { client, own, meter, owner } = hands;
  const results = await client.batch(actions.map(writeOf), signal);
  let failed: StatusError | undefined;
  actions.forEach((action, index) => {
    const result = results[index];
    if (result === undefined) return;
    if (result.ok) {
      meter.changed(action.kind);
      if (action.kind === 'delete') own.forget(action.slice);
      else own.note(result.object);
      return;
    }
    const error = StatusError.fromStatus(result.status);
    if (action.kind === 'delete' && error.reason === 'NotFound') return;
    if (action.kind === 'create' && isNamespaceTerminating(error)) return;
    failed ??= describedError(error, action, owner);
  });
  if (failed !== undefined) throw failed;
}

/** The error with a description of the failed action, worded as in Kubernetes. */
function describedError(
  { reason, message, code, details }: StatusError,
  action: SliceAction,
  owner: string,
): StatusError {
  const name = action.kind === 'create' ? '' : `${action.slice.metadata.name ?? ''} `;
  const described = `failed to ${action.kind} ${name}EndpointSlice for ${owner}: ${message}`;
  return new StatusError(reason, described, { code, details });
}

function writeOf({ kind, slice }: SliceAction): ObjectWrite {
  const resource = ENDPOINT_SLICES;
  const key = keyOf(slice);
  switch (kind) {
    case 'create':
      return { verb: 'create', resource, namespace: key.namespace, object: slice };
    case 'update':
      return { verb: 'update', resource, key, object: slice };
    case 'delete': {
      const { uid } = slice.metadata;
      return { verb: 'delete', resource, key, ...(uid === undefined ? {} : { options: { preconditions: { uid } } }) };
    }
  }
}
