import { errorMessage } from '@gantry/base';
import { ignoreNotFound, isNamespaceTerminating } from '@gantry/client';
import type { ControllerContext } from '@gantry/controller-runtime';
import {
  isReason,
  keyOf,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Pod,
  PODS,
  type StatefulSet,
} from '@gantry/objects';
import { isStored } from '../../libraries/pods/pod-writes.shell.ts';
import type { ClaimChanges, ClaimOwners, PodAction } from './actions.ts';

type Verb = 'Create' | 'Update' | 'Delete';

/** A failed write: its error, and the text for Events. */
interface Failure {
  readonly error: unknown;
  readonly message: string;
}

/**
 * Executes an action on a pod and its claims, and reports it on the set with Kubernetes' messages. Rejects with the first error. Deletions
 * include the uid of the observed pod, never only its name.
 */
export async function performPodAction(
  action: PodAction,
  set: StatefulSet,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, events } = context;
  const writer = new PodWriter(set, context, signal);
  switch (action.kind) {
    case 'createPod':
      await writer.changeClaims(action.pod, action.claims, 'Create');
      return await writer.report('Create', action.pod, client.create(PODS, action.pod, signal));
    case 'repairPod':
      await writer.changeClaims(action.pod, action.claims, 'Update');
      return await writer.report(
        'Update',
        action.pod,
        action.repaired === undefined ? Promise.resolve() : client.update(PODS, action.repaired, signal),
      );
    case 'changeClaims':
      return await writer.changeClaims(action.pod, action.claims, 'Update');
    case 'deletePod':
      return await writer.deletePod(action.pod);
    case 'report':
      events.event(set, 'Warning', action.reason, action.message);
  }
}

class PodWriter {
  readonly #set: StatefulSet;
  readonly #context: ControllerContext;
  readonly #signal: AbortSignal;

  constructor(set: StatefulSet, context: ControllerContext, signal: AbortSignal) {
    this.#set = set;
    this.#context = context;
    this.#signal = signal;
  }

  /** Creates claims and changes their owners. All are tried; failures are reported for the verb, and the first one is thrown. */
  async changeClaims(pod: Pod, { create, owners }: ClaimChanges, verb: Verb): Promise<void> {
    const created = await Promise.all(create.map((claim) => this.#createClaim(claim, pod)));
    const changed = await Promise.all(owners.map((change) => this.#changeOwners(change)));
    const failures = [...created, ...changed].filter((failure) => failure !== undefined);
    const [first] = failures;
    if (first === undefined) return;
    const messages = failures.map(({ message }) => message);
    this.#reportFailure(verb, pod, {
      ...first,
      message: messages.length > 1 ? `[${messages.join(', ')}]` : first.message,
    });
    throw first.error;
  }

  async report(verb: Verb, pod: Pod, written: Promise<unknown>): Promise<void> {
    try {
      await written;
    } catch (error) {
      this.#reportFailure(verb, pod, { error, message: errorMessage(error) });
      throw error;
    }
    this.#reportSuccess(verb, pod);
  }

  /** Deletes a pod. A missing pod is not an error; a new pod with the same name is not deleted. */
  async deletePod(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    try {
      await ignoreNotFound(this.#context.client.delete(PODS, keyOf(pod), { uid }, this.#signal));
    } catch (error) {
      if (isReason(error, 'Conflict') && !(await isStored(pod, this.#context, this.#signal))) return;
      this.#reportFailure('Delete', pod, { error, message: errorMessage(error) });
      throw error;
    }
    this.#reportSuccess('Delete', pod);
  }

  async #createClaim(claim: PersistentVolumeClaim, pod: Pod): Promise<Failure | undefined> {
    const { client, events } = this.#context;
    const claimName = claim.metadata.name ?? '';
    try {
      await client.create(PERSISTENT_VOLUME_CLAIMS, claim, this.#signal);
    } catch (error) {
      const message = errorMessage(error);
      if (!isReason(error, 'AlreadyExists') && !isNamespaceTerminating(error)) {
        const text = `Create Claim ${claimName} for ${this.#name(pod)} failed error: ${message}`;
        events.event(this.#set, 'Warning', 'FailedCreate', text);
      }
      return { error, message: `failed to create PVC ${claimName}: ${message}` };
    }
    events.event(this.#set, 'Normal', 'SuccessfulCreate', `Create Claim ${claimName} ${this.#name(pod)} success`);
    return undefined;
  }

  async #changeOwners({ claim, owners }: ClaimOwners): Promise<Failure | undefined> {
    const changed = { ...claim, metadata: { ...claim.metadata, ownerReferences: [...owners] } };
    try {
      await ignoreNotFound(this.#context.client.update(PERSISTENT_VOLUME_CLAIMS, changed, this.#signal));
    } catch (error) {
      const { name = '' } = claim.metadata;
      return { error, message: `could not update claim ${name} for delete policy ownerRefs: ${errorMessage(error)}` };
    }
    return undefined;
  }

  #reportSuccess(verb: Verb, pod: Pod): void {
    this.#context.events.event(this.#set, 'Normal', `Successful${verb}`, `${verb} ${this.#name(pod)} successful`);
  }

  /**
   * Reports a failure, except conflicts with other writers, which the next reconcile resolves, and rejections by a terminating namespace.
   */
  #reportFailure(verb: Verb, pod: Pod, { error, message }: Failure): void {
    if (isReason(error, 'AlreadyExists') || isReason(error, 'Conflict') || isNamespaceTerminating(error)) return;
    this.#context.events.event(
      this.#set,
      'Warning',
      `Failed${verb}`,
      `${verb} ${this.#name(pod)} failed error: ${message}`,
    );
  }

  #name(pod: Pod): string {
    return `Pod ${pod.metadata.name ?? ''} in StatefulSet ${this.#set.metadata.name ?? ''}`;
  }
}
