import { findResource } from '@gantry/kinds';
import type { KubeObject } from '@gantry/objects';
import { must } from '@gantry/base';
import { NOT_AUDITED } from '../../audit/index.ts';
import type { UpdateQuotaStatus } from '../../admission/index.ts';
import { APISERVER } from '../../auth/apiserver-user.ts';
import type { RequestContext } from '../contract/registry.ts';
import type { Committer } from './committer.ts';

const QUOTAS = { group: '', version: 'v1', resource: 'resourcequotas' };

/** Stores a quota's status, guarded by the version in which the quota was read. */
export function createUpdateQuotaStatus(committer: Committer): UpdateQuotaStatus {
  return async (quota, { signal, warn }) => {
    const definition = must(findResource(QUOTAS), 'the definition of quotas');
    const { namespace = '', name = '', resourceVersion = '' } = quota.metadata;
    const context: RequestContext = { user: APISERVER, signal, fence: undefined, warn, audit: NOT_AUDITED };
    const object: KubeObject = quota;
    const outcome = await committer.commit(
      {
        context,
        definition,
        namespace,
        name,
        expected: Number(resourceVersion),
        object,
        fence: undefined,
      },
      object,
    );
    if (outcome.kind === 'committed') return { kind: 'updated' };
    return { kind: 'conflict', quota: outcome.current?.response.object };
  };
}
