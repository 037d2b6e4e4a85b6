import type { PersistentVolumeClaim, Pod } from '@gantry/objects';
import type { Action, ClaimChanges } from '../actions.ts';
import { revisionOf } from '../identity.ts';

/** An action in one line, as test cases write it: `create web-0 new [create data-web-0]`. */
export function describeAction(action: Action): string {
  switch (action.kind) {
    case 'adoptRevision':
    case 'createRevision':
    case 'deleteRevision':
      return `${action.kind} ${nameOf(action.revision)}`;
    case 'renumberRevision':
      return `${action.kind} ${nameOf(action.revision)} to ${action.number}`;
    case 'createPod':
      return `create ${nameOf(action.pod)} ${revisionOf(action.pod) ?? ''}${describeClaims(action.claims)}`;
    case 'repairPod':
      return `repair ${nameOf(action.pod)}${describeRepair(action.pod, action.repaired)}${describeClaims(action.claims)}`;
    case 'changeClaims':
      return `claims of ${nameOf(action.pod)}${describeClaims(action.claims)}`;
    case 'deletePod':
      return `delete ${nameOf(action.pod)}`;
    case 'adoptPod':
    case 'releasePod':
      return `${action.kind} ${nameOf(action.pod)}`;
    case 'report':
      return `${action.reason}: ${action.message}`;
    case 'updateStatus':
      return 'updateStatus';
  }
}

function describeClaims({ create, owners }: ClaimChanges): string {
  const parts = [
    ...create.map((claim) => `create ${nameOf(claim)}${ownersIn(claim)}`),
    ...owners.map(({ claim, owners: to }) => `${nameOf(claim)} to ${to.map(({ kind }) => kind).join('+') || 'none'}`),
  ];
  return parts.length === 0 ? '' : ` [${parts.join(', ')}]`;
}

function describeRepair(pod: Pod, repaired: Pod | undefined): string {
  if (repaired === undefined) return '';
  const parts = [
    ...(JSON.stringify(pod.metadata) === JSON.stringify(repaired.metadata) ? [] : ['labels']),
    ...(JSON.stringify(pod.spec) === JSON.stringify(repaired.spec) ? [] : ['volumes']),
  ];
  return ` ${parts.join(' ')}`;
}

function ownersIn({ metadata }: PersistentVolumeClaim): string {
  return metadata.ownerReferences === undefined
    ? ''
    : ` of ${metadata.ownerReferences.map(({ kind }) => kind).join('+')}`;
}

function nameOf({ metadata }: { metadata: { name?: string } }): string {
  return metadata.name ?? '';
}
