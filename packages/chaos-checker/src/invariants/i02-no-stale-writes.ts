import type { Fence } from '../history/stored-value.ts';
import type { Change, World } from '../history/world.ts';
import type { Invariant } from './invariant.ts';

/** The users that write as leaders only, with their elections. */
const LEADERS: ReadonlyMap<string, string> = new Map([
  ['system:kube-controller-manager', '/gantry/elections/kube-controller-manager'],
  ['system:kube-scheduler', '/gantry/elections/kube-scheduler'],
]);
/** What a standby may create: it requests its own certificate. */
const OF_STANDBYS = 'certificates.k8s.io/certificatesigningrequests';

/**
 * I2 (the fencing that Jepsen's lock tests ask for). No write of epoch e is committed after the revision at which its term ended or
 * e' > e began, none carries the incarnation of another history, and none of a scheduler or controller-manager is without the epoch of its
 * own election. Writes name their epoch and writer in the value's header, deletions in `/gantry/deleted`. Of the user's own electors: a
 * ConfigMap that names a Lease's term in its data (`fence`) changes only in that term. From etcd's history.
 */
export const noStaleWrites: Invariant = {
  id: 'I2',
  title: 'No write of a former leader is committed',
  unit: 'writes of leaders',
  needs: ['etcd'],
  observe(world, findings) {
    return {
      change(change) {
        const { key, fence, revision, atMs, source } = change;
        const ofUser = fenceOfUser(change);
        if (ofUser !== undefined) {
          findings.checked();
          const wrong = outsideOfTerm(ofUser, world);
          if (wrong !== undefined) findings.violation(atMs, `${key} at revision ${revision}: ${wrong}`, source);
        }
        const own = ownElection(change);
        if (fence === undefined && own === undefined) return;
        findings.checked();
        const term = fence === undefined ? undefined : world.terms.get(fence.electionKey);
        const what =
          own !== undefined && own !== fence?.electionKey
            ? `${change.after?.writer} wrote ${fence === undefined ? 'without an epoch' : `as leader of ${fence.electionKey}`}`
            : broken(fence, term?.epoch, world.incarnation);
        if (what !== undefined)
          findings.violation(atMs, `${key} at revision ${revision}: ${what}`, term?.source, source);
      },
    };
  },
};

/** The election of a user who may make this change only as the leader. A deletion without an epoch does not say whose it is. */
function ownElection({ before, after, resource }: Change): string | undefined {
  if (after === undefined || (resource === OF_STANDBYS && before === undefined)) return undefined;
  return LEADERS.get(after.writer);
}

/** The term that a change of a user's elector names, as the header Gantry-Fence has it: `lease=NS%2FNAME&uid=UID&holder=IDENTITY&transitions=3`. */
function fenceOfUser({ before, after, resource }: Change): URLSearchParams | undefined {
  const data = resource === 'configmaps' ? after?.object?.data : undefined;
  if (data?.['fence'] === undefined) return undefined;
  const old = before?.object?.data;
  return old?.['fence'] === data['fence'] && old['turn'] === data['turn']
    ? undefined
    : new URLSearchParams(data['fence']);
}

function outsideOfTerm(fence: URLSearchParams, world: World): string | undefined {
  const [lease = '', uid = '', holder = '', transitions = ''] = ['lease', 'uid', 'holder', 'transitions'].map(
    (field) => fence.get(field) ?? '',
  );
  const [namespace = '', name = ''] = lease.split('/');
  const { metadata, spec } = world.get('coordination.k8s.io/leases', namespace, name)?.object ?? {};
  const now = `${spec?.holderIdentity} in term ${spec?.leaseTransitions ?? 0}`;
  if (metadata?.uid === uid && now === `${holder} in term ${transitions}`) return undefined;
  return `${holder} wrote in term ${transitions} of the Lease ${lease}, which ${spec === undefined ? 'was gone' : `was held by ${now}`}`;
}

function broken(fence: Fence | undefined, current: number | undefined, now: string) {
  if (fence === undefined) return undefined;
  const { electionKey, epoch, incarnation } = fence;
  if (incarnation !== '' && now !== '' && incarnation !== now) return `incarnation ${incarnation} while ${now} holds`;
  if (current === epoch) return undefined;
  return `epoch ${epoch} of ${electionKey}, while ${current === undefined ? 'nobody led' : `epoch ${current} led`}`;
}
