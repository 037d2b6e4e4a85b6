import type { Pod } from '@gantry/objects';
import { type ReactNode, useMemo } from 'react';
import type { Finding } from '../explain/finding.ts';
import { explainPod } from '../explain/pod.ts';
import { explainWorkload } from '../explain/rollout.ts';
import { useNow } from '../shell/console-context.ts';
import { Busy } from '../shell/notices.tsx';
import { Scheduling } from './scheduling.tsx';
import type { TabProps } from './use-object.ts';
import { useSurroundings } from './use-surroundings.ts';

/** Explanations have ages. */
const REFRESH_MS = 3_000;

/** Why the object is as it is, in sentences. */
export function WhyTab(props: TabProps): ReactNode {
  const { kind, namespace, name, object } = props;
  const now = useNow(REFRESH_MS);
  const { around, isLoading, hidden, broken } = useSurroundings(props);
  const findings = useMemo((): readonly Finding[] => {
    if (isLoading) return [];
    const { uid } = object.metadata;
    const events = around.namespaceEvents.filter(({ involvedObject }) => involvedObject?.uid === uid);
    const all = { ...around, now, events };
    return kind.id === 'pods' ? explainPod(object as Pod, all) : explainWorkload(object, all);
  }, [around, isLoading, object, kind, now]);
  if (isLoading) return <Busy what="what is around it" />;
  return (
    <>
      <ul className="findings">
        {findings.map(({ tone, text, details = [] }) => (
          <li key={text} data-tone={tone}>
            {text}
            {details.length === 0 ? null : (
              <ul>
                {details
                  .filter((line) => line !== '')
                  .map((line) => (
                    <li key={line}>{line}</li>
                  ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      {kind.id === 'pods' ? <Scheduling namespace={namespace} pod={name} /> : null}
      {hidden.length === 0 ? null : <p className="muted">Without {hidden.join(', ')}, which you may not list.</p>}
      {broken.map(({ resource, error }) => (
        <p key={resource} className="bad" role="status">
          No news of {resource}: {error?.message}; trying again.
        </p>
      ))}
    </>
  );
}
