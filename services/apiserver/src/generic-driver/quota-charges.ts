import { findResource, type KubeObject } from '@gantry/api';
import { must } from '@gantry/base';
import type { Charge } from '../admission/index.ts';
import type { RequestContext, User } from '../driver.ts';
import type { Committer } from './committer.ts';

const SELF: User = { name: 'system:apiserver', uid: '', groups: ['gantry:apiservers'], extra: {} };
const QUOTAS = { group: '', version: 'v1', resource: 'resourcequotas' };

/** Counts up what is used of a quota, guarded by the version in which it was read. */
export function chargeWith(committer: () => Committer): Charge {
  return async (quota, { signal, warn }) => {
    const definition = must(findResource(QUOTAS), 'the definition of quotas');
    const { namespace = '', name = '', resourceVersion = '' } = quota.metadata;
    const context: RequestContext = { user: SELF, signal, fence: undefined, warn };
    const object: KubeObject = quota;
    const outcome = await committer().commit(
      {
        context,
        definition,
        namespace,
        name,
        expected: Number(resourceVersion),
        object,
        mustExist: [],
        fence: undefined,
      },
      object,
    );
    if (outcome.kind === 'committed') return { kind: 'charged' };
    return { kind: 'changed', quota: outcome.current?.answer.object };
  };
}
