import type { ReactNode } from 'react';
import type { AnyObject, TabProps } from '../object/use-object.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { Kubectl } from '../shell/notices.tsx';

/** Whether the rollout of a Deployment is paused: a new template would change no pod. kubectl refuses, too. */
export function isPaused({ spec }: AnyObject): boolean {
  return spec?.['paused'] === true;
}

export function PausedNotice({ kind, namespace, name, object }: TabProps): ReactNode {
  if (!isPaused(object)) return null;
  return (
    <div className="notice waiting">
      <p>Its rollout is paused. Resume it first:</p>
      <Kubectl command={kubectlOf('rollout resume', kind, namespace, name)} />
    </div>
  );
}
