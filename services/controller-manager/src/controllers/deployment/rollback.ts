import { cloneJson, type Deployment, type ReplicaSet } from '@gantry/objects';
import { byRevision, ROLLBACK_TO, rolledBackAnnotations, rolloutRevision, wholeNumber } from './annotations.ts';
import { runsSameTemplate, TEMPLATE_HASH } from './replica-sets.ts';

/** The result of a rollback request: the Deployment without the request, and the Event to report. */
export interface Rollback {
  readonly deployment: Deployment;
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'DeploymentRollback' | 'DeploymentRollbackRevisionNotFound' | 'DeploymentRollbackTemplateUnchanged';
  readonly message: string;
}

/** The revision in a Deployment's rollback annotation, 0 for the previous one; undefined if absent or invalid. */
export function rollbackRequest(deployment: Deployment): bigint | undefined {
  return wholeNumber(deployment.metadata.annotations?.[ROLLBACK_TO]);
}

/** Restores the template and the annotations of the set with this revision. */
export function rollBack(deployment: Deployment, sets: readonly ReplicaSet[], request: bigint): Rollback {
  const revision = request === 0n ? lastRevision(sets) : request;
  const reject = (reason: Rollback['reason'], message: string): Rollback => ({
    deployment: withoutRequest(deployment),
    type: 'Warning',
    reason,
    message,
  });
  if (revision === 0n) return reject('DeploymentRollbackRevisionNotFound', 'Unable to find last revision.');
  const set = sets.find((one) => rolloutRevision(one) === revision);
  if (set === undefined) {
    return reject('DeploymentRollbackRevisionNotFound', 'Unable to find the revision to rollback to.');
  }
  const name = deployment.metadata.name ?? '';
  if (runsSameTemplate(deployment, set)) {
    const message = `The rollback revision contains the same template as current deployment "${name}"`;
    return reject('DeploymentRollbackTemplateUnchanged', message);
  }
  return {
    deployment: withoutRequest(withTemplateOf(deployment, set)),
    type: 'Normal',
    reason: 'DeploymentRollback',
    message: `Rolled back deployment "${name}" to revision ${revision}`,
  };
}

/** The second highest revision; 0 if there is none. */
function lastRevision(sets: readonly ReplicaSet[]): bigint {
  const last = [...sets].sort(byRevision).at(-2);
  return last === undefined ? 0n : rolloutRevision(last);
}

function withTemplateOf(deployment: Deployment, set: ReplicaSet): Deployment {
  const copy = cloneJson(deployment);
  const template = cloneJson(set.spec?.template ?? {});
  if (template.metadata?.labels !== undefined) delete template.metadata.labels[TEMPLATE_HASH];
  if (copy.spec !== undefined) copy.spec.template = template;
  copy.metadata.annotations = rolledBackAnnotations(deployment, set);
  return copy;
}

function withoutRequest(deployment: Deployment): Deployment {
  const copy = cloneJson(deployment);
  if (copy.metadata.annotations !== undefined) delete copy.metadata.annotations[ROLLBACK_TO];
  return copy;
}
