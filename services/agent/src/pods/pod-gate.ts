import { isStaticUid } from '../spec/static-pod.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import type { EndServices } from './worker-services.ts';

/** What a pod's actions pass before they begin: what the agent knows of the pod must not be old. */
export function gateOf(uid: string, { gate, staticGate }: Pick<EndServices, 'gate' | 'staticGate'>): FreshnessGate {
  return isStaticUid(uid) ? staticGate : gate;
}
