import type { KubeObject } from '@gantry/operator';

const PREFIX = 'container-linux-update.v1.coreos.com/';

/** Labels and annotations of a Node, as in the original. */
export const NAMES = {
  /** Labels that say what the node runs. */
  id: `${PREFIX}id`,
  group: `${PREFIX}group`,
  version: `${PREFIX}version`,
  /** Annotation: what the update engine does. `UPDATE_STATUS_UPDATED_NEED_REBOOT` asks for a reboot. */
  status: `${PREFIX}status`,
  /** Annotation and label, by the agent: the node is to be rebooted. */
  rebootNeeded: `${PREFIX}reboot-needed`,
  /** Annotation, by the agent: the node is being drained and rebooted. */
  rebootInProgress: `${PREFIX}reboot-in-progress`,
  /** Annotation, by the agent: it was the agent that cordoned the node. */
  madeUnschedulable: `${PREFIX}agent-made-unschedulable`,
  /** Annotation, by the operator: the agent may reboot the node. */
  rebootOk: `${PREFIX}reboot-ok`,
  /** Annotation, by an administrator: the node is not to be rebooted. */
  rebootPaused: `${PREFIX}reboot-paused`,
  /** Labels, by the operator: checks before and after the reboot are to run. */
  beforeReboot: `${PREFIX}before-reboot`,
  afterReboot: `${PREFIX}after-reboot`,
} as const;

export const NEEDS_REBOOT = 'UPDATE_STATUS_UPDATED_NEED_REBOOT';
export const IDLE = 'UPDATE_STATUS_IDLE';

/** What the labels and annotations of a Node say. */
export interface NodeState {
  readonly isNeeded: boolean;
  readonly isInProgress: boolean;
  readonly isOk: boolean;
  readonly isPaused: boolean;
  readonly isBefore: boolean;
  readonly isAfter: boolean;
  /** An annotation has the value `true`. */
  readonly has: (annotation: string) => boolean;
}

export function stateOf({ metadata }: KubeObject): NodeState {
  const { annotations = {}, labels = {} } = metadata;
  const has = (annotation: string): boolean => annotations[annotation] === 'true';
  return {
    isNeeded: has(NAMES.rebootNeeded),
    isInProgress: has(NAMES.rebootInProgress),
    isOk: has(NAMES.rebootOk),
    isPaused: has(NAMES.rebootPaused),
    isBefore: labels[NAMES.beforeReboot] === 'true',
    isAfter: labels[NAMES.afterReboot] === 'true',
    has,
  };
}

/** A change of a Node. It fails with Conflict if the Node is no longer the version that it was decided from. */
export interface NodePatch {
  readonly metadata: {
    readonly uid: string | undefined;
    readonly resourceVersion: string | undefined;
    readonly annotations?: Readonly<Record<string, string | null>>;
    readonly labels?: Readonly<Record<string, string | null>>;
  };
  readonly spec?: { readonly unschedulable: true | null };
}

export function patchOf(
  { metadata }: KubeObject,
  annotations: Readonly<Record<string, string | null>>,
  labels: Readonly<Record<string, string | null>> = {},
): NodePatch {
  const { uid, resourceVersion } = metadata;
  return { metadata: { uid, resourceVersion, annotations, labels } };
}
