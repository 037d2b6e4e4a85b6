import type { ConfigMap, KubeObject } from '@gantry/operator';
import { NAMES, type NodePatch, type NodeState, patchOf, stateOf } from './handshake.ts';

/** What an administrator decides. */
export interface OperatorSettings {
  /** The most nodes that are checked and rebooted at the same time. */
  readonly maxRebooting: number;
  /** Annotations that checks set to `true` before a reboot and after it. */
  readonly beforeReboot: readonly string[];
  readonly afterReboot: readonly string[];
}

export interface ObservedNodes {
  readonly nodes: readonly KubeObject[];
  /** The slots: a name of a Node, and the version of the Node for which the slot was given. Undefined before the first one. */
  readonly slots: ConfigMap | undefined;
  readonly isWindowOpen: boolean;
}

export type OperatorAction =
  | { readonly kind: 'patchNode'; readonly node: string; readonly step: Step; readonly patch: NodePatch }
  | { readonly kind: 'writeSlots'; readonly slots: Readonly<Record<string, string>> };

/** The steps of the original, in its order. */
export type Step = 'cleaned up' | 'rebooted' | 'after reboot' | 'reboot allowed' | 'before reboot';

/**
 * What the operator does next. The slots keep the number of nodes: they are one object, so of two leaders that change them at the same time,
 * one gets a Conflict. A node is marked only in exactly the version for which it has a slot, and a slot is taken back only from a node that has
 * a newer version: so the mark of a former leader, however late it arrives, is a Conflict too.
 */
export function planOperator(observed: ObservedNodes, settings: OperatorSettings): readonly OperatorAction[] {
  const given = observed.slots?.data ?? {};
  const patches = observed.nodes.flatMap((node) => stepOf(node, given, observed, settings) ?? []);
  const slots = nextSlots(observed, settings);
  const isSame = JSON.stringify(sorted(slots)) === JSON.stringify(sorted(given));
  return [...patches, ...(isSame ? [] : [{ kind: 'writeSlots', slots } as const])];
}

function stepOf(
  node: KubeObject,
  given: Readonly<Record<string, string>>,
  { isWindowOpen }: ObservedNodes,
  { beforeReboot, afterReboot }: OperatorSettings,
): OperatorAction | undefined {
  const state = stateOf(node);
  const { isOk, isNeeded, isInProgress, isBefore, isAfter, has } = state;
  const { name = '', resourceVersion } = node.metadata;
  const action = (step: Step, ...change: [Record<string, string | null>, Record<string, string | null>]) =>
    ({ kind: 'patchNode', node: name, step, patch: patchOf(node, ...change) }) as const;
  const isWanted = wantsReboot(state) && isWindowOpen;
  if (isBefore && !isWanted) return action('cleaned up', without(beforeReboot), { [NAMES.beforeReboot]: null });
  if (isAfter) {
    if (!afterReboot.every(has)) return undefined;
    return action('rebooted', { ...without(afterReboot), [NAMES.rebootOk]: 'false' }, { [NAMES.afterReboot]: null });
  }
  if (isOk && !isNeeded && !isInProgress) {
    return action('after reboot', without(afterReboot), { [NAMES.afterReboot]: 'true' });
  }
  if (isBefore) {
    if (!beforeReboot.every(has)) return undefined;
    const allowed = { ...without(beforeReboot), [NAMES.rebootOk]: 'true' };
    return action('reboot allowed', allowed, { [NAMES.beforeReboot]: null });
  }
  if (isWanted && resourceVersion !== undefined && given[name] === resourceVersion) {
    return action('before reboot', without(beforeReboot), { [NAMES.beforeReboot]: 'true' });
  }
  return undefined;
}

/** Keeps the slots of nodes that are busy or may still be marked, and gives free ones to nodes that wait, by name. */
function nextSlots(
  { nodes, slots, isWindowOpen }: ObservedNodes,
  { maxRebooting }: OperatorSettings,
): Readonly<Record<string, string>> {
  const given = slots?.data ?? {};
  const next: Record<string, string> = {};
  const waiting: [string, string][] = [];
  for (const node of nodes) {
    const { name = '', resourceVersion = '' } = node.metadata;
    const state = stateOf(node);
    const slot = given[name];
    if (slot !== undefined && (isBusy(state) || !isNewer(resourceVersion, slot))) next[name] = slot;
    else if (isBusy(state)) next[name] = resourceVersion;
    else if (wantsReboot(state)) waiting.push([name, resourceVersion]);
  }
  const free = isWindowOpen ? Math.max(0, maxRebooting - Object.keys(next).length) : 0;
  for (const [name, version] of waiting.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, free)) next[name] = version;
  return next;
}

function wantsReboot({ isNeeded, isPaused, isOk, isInProgress }: NodeState): boolean {
  return isNeeded && !isPaused && !isOk && !isInProgress;
}

/** It has been marked, and its reboot has not ended yet. */
export function isBusy({ isBefore, isAfter, isOk, isInProgress }: NodeState): boolean {
  return isBefore || isAfter || isOk || isInProgress;
}

/** Versions of one resource are numbers that grow. */
function isNewer(version: string, than: string): boolean {
  return /^\d{1,20}$/.test(than) ? BigInt(version) > BigInt(than) : true;
}

function without(annotations: readonly string[]): Record<string, null> {
  return Object.fromEntries(annotations.map((name) => [name, null]));
}

function sorted(slots: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(slots).sort(([a], [b]) => (a < b ? -1 : 1));
}
