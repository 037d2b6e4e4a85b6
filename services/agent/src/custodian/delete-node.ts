import { errorMessage } from '@gantry/base';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import type { EventRecorder } from '@gantry/controller-runtime';
import { type KubeObject, type Node, NODES } from '@gantry/objects';

/** Kubernetes' words: the cloud is the Docker host here. */
const NOT_IN_CLOUD = 'it does not exist in the cloud provider';

/** Deletes a Node of the version that was seen, with the Events of Kubernetes' cloud node lifecycle controller. */
export async function deleteNode(
  node: Node,
  { client, events }: { readonly client: ObjectClient; readonly events: EventRecorder },
  signal: AbortSignal,
): Promise<void> {
  const { name = '' } = node.metadata;
  events.event(node, 'Normal', 'DeletingNode', `Deleting node ${name} because ${NOT_IN_CLOUD}`);
  try {
    await ignoreNotFound(client.delete(NODES, { namespace: '', name }, versionOf(node), signal));
  } catch (error) {
    if (!signal.aborted) {
      events.event(node, 'Warning', 'DeletingNodeFailed', `Failed deleting node ${name}: ${errorMessage(error)}`);
    }
    throw error;
  }
}

/** The precondition that an object is still as it was seen. */
export function versionOf(object: KubeObject | undefined): {
  readonly uid?: string;
  readonly resourceVersion?: string;
} {
  const { uid, resourceVersion } = object?.metadata ?? {};
  return { uid, resourceVersion };
}
