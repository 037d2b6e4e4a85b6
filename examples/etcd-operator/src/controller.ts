import { isDeepStrictEqual } from 'node:util';
import {
  type ConditionChange,
  type Controller,
  ignoreNotFound,
  type Job,
  JOBS,
  keyOf,
  type Pod,
  PODS,
  type ReconcileContext,
  SECRETS,
  watchOwnedBy,
  watchSelf,
  withCondition,
} from '@gantry/operator';
import { planBackups } from './backup.ts';
import { type Certificates, type EtcdAdmin, EtcdError } from './etcd-admin.ts';
import { ETCD_CLUSTERS, type EtcdCluster, urlOf } from './etcd-cluster.ts';
import { memberPod } from './member-pod.ts';
import { type Action, isSettled, type Membership, type Plan, planCluster } from './plan.ts';

export type CreateAdmin = (endpoints: readonly string[], certificates: Certificates | undefined) => EtcdAdmin;

/** How soon members are asked again in the midst of a change, and otherwise. */
const CHANGING_MS = 1000;
const STEADY_MS = 30_000;

/** Moves the members of a cluster to what is wanted, one step at a time. */
export const etcdController = (createAdmin: CreateAdmin): Controller => ({
  name: 'etcd-clusters',
  watches: [watchSelf(ETCD_CLUSTERS), watchOwnedBy(ETCD_CLUSTERS, PODS), watchOwnedBy(ETCD_CLUSTERS, JOBS)],
  awaitOwnWrites: 'always',
  reconcile: async (key, context, signal) => {
    const { cache, clock } = context;
    const cluster = cache.get(ETCD_CLUSTERS, key);
    if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return {};
    const { uid = '' } = cluster.metadata;
    const pods = cache.controlledBy(PODS, key.namespace, uid);
    const admin = createAdmin(endpointsOf(cluster, pods), await certificatesOf(cluster, context, signal));
    const membership = await membershipOf(cluster, admin, signal);
    const now = clock.now();
    const plan = planCluster({ cluster, pods, membership, now });
    const refused = await execute(plan.action, cluster, membership, admin, context, signal);
    const jobs = cache.controlledBy(JOBS, key.namespace, uid);
    const backups = planBackups(
      cluster,
      jobs,
      cluster.status?.clusterId !== undefined && membership !== undefined,
      now,
    );
    if (backups?.create !== undefined) await context.client.create(JOBS, backups.create, signal);
    for (const job of backups?.remove ?? []) await removeJob(job, context, signal);
    const changes = [
      availability(cluster, pods, membership),
      progress(refused === undefined ? plan : { ...plan, message: `${plan.message}. ${refused}` }),
      ...(backups === undefined ? [] : [backups.condition]),
    ];
    await writeStatus(cluster, pods, membership, changes, backups?.backups, context, signal);
    const soonMs = plan.reason === 'AsDesired' ? STEADY_MS : CHANGING_MS;
    return { requeueAfterMs: backups === undefined ? soonMs : Math.max(1, Math.min(soonMs, backups.nextAt - now)) };
  },
});

/** Those of members that are ready come first. */
function endpointsOf(cluster: EtcdCluster, pods: readonly Pod[]): readonly string[] {
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const inOrder = [...alive.filter(isSettled), ...alive.filter((pod) => !isSettled(pod))];
  return inOrder.map(({ metadata }) => urlOf(cluster, metadata.name ?? '', 'client'));
}

async function certificatesOf(
  { spec, metadata }: EtcdCluster,
  { client }: ReconcileContext,
  signal: AbortSignal,
): Promise<Certificates | undefined> {
  if (spec.tls === undefined) return undefined;
  const { namespace = '' } = metadata;
  const { data = {} } = await client.get(SECRETS, { namespace, name: spec.tls.secretName }, signal);
  const pem = (file: string): Buffer => {
    const text = data[file];
    if (text === undefined) throw new EtcdError(`Secret ${spec.tls?.secretName}: has no ${file}`);
    return Buffer.from(text, 'base64');
  };
  return { ca: pem('ca.crt'), cert: pem('tls.crt'), key: pem('tls.key') };
}

/** That of this cluster: an answer of another one is none. */
async function membershipOf(
  cluster: EtcdCluster,
  admin: EtcdAdmin,
  signal: AbortSignal,
): Promise<Membership | undefined> {
  const membership = await admin.membership(signal);
  const known = cluster.status?.clusterId;
  return known === undefined || known === membership?.clusterId ? membership : undefined;
}

/** Resolves with why etcd refuses the action, such as that a majority would be at risk. It is tried again. */
async function execute(
  action: Action,
  cluster: EtcdCluster,
  membership: Membership | undefined,
  admin: EtcdAdmin,
  { client, events, log }: ReconcileContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  const say = (reason: string, message: string): void => {
    events.event(cluster, 'Normal', reason, message);
    log.info({}, message);
  };
  const remove = async (pod: Pod): Promise<void> => {
    await ignoreNotFound(client.delete(PODS, keyOf(pod), { uid: pod.metadata.uid }, signal));
  };
  try {
    switch (action.kind) {
      case 'wait':
        return undefined;
      case 'createFirst':
        await client.create(PODS, memberPod(cluster, action.name, { state: 'new' }), signal);
        say('MemberCreated', `Created the first member ${action.name}`);
        return undefined;
      case 'add': {
        await admin.addLearner(urlOf(cluster, action.name, 'peer'), signal);
        const peers = [...(membership?.members ?? []).map(({ name }) => name), action.name];
        await client.create(PODS, memberPod(cluster, action.name, { state: 'existing', peers }), signal);
        say('MemberAdded', `Added member ${action.name}`);
        return undefined;
      }
      case 'promote':
        if (await admin.promote(action.member.id, signal)) say('MemberVotes', `Member ${action.member.name} votes`);
        return undefined;
      case 'remove': {
        const { name, id } = action.member;
        const key = { namespace: cluster.metadata.namespace ?? '', name };
        // The cache may not know a pod that was created a moment ago.
        if (action.isGone && (await ignoreNotFound(client.get(PODS, key, signal))) !== undefined) return undefined;
        await admin.remove(id, signal);
        say('MemberRemoved', `Removed member ${name}`);
        return undefined;
      }
      case 'deletePod':
        await remove(action.pod);
        return undefined;
      case 'moveLeader':
        await admin.moveLeader(action.to.id, signal);
        return undefined;
      case 'changeImage':
        await client.patch(PODS, keyOf(action.pod), { strategic: action.patch }, signal);
        say('MemberUpgraded', `Changes the image of member ${action.pod.metadata.name} to ${cluster.spec.image}`);
        return undefined;
    }
  } catch (error) {
    if (error instanceof EtcdError) return `etcd: ${error.message}`;
    throw error;
  }
}

async function removeJob(job: Job, { client }: ReconcileContext, signal: AbortSignal): Promise<void> {
  const { uid } = job.metadata;
  await ignoreNotFound(client.delete(JOBS, keyOf(job), { uid, propagationPolicy: 'Background' }, signal));
}

function availability(cluster: EtcdCluster, pods: readonly Pod[], membership: Membership | undefined): ConditionChange {
  const type = 'Available';
  const { clusterId, members = [] } = cluster.status ?? {};
  if (clusterId === undefined)
    return { type, status: 'False', reason: 'Creating', message: 'The first member does not serve yet' };
  if (membership !== undefined) {
    const ready = readyOf(pods, membership);
    const message = `${ready} of ${membership.members.length} members are ready`;
    return { type, status: 'True', reason: 'MajorityServes', message };
  }
  const left = pods.filter(
    ({ metadata }) => members.includes(metadata.name ?? '') && metadata.deletionTimestamp === undefined,
  );
  const majority = Math.floor(members.length / 2) + 1;
  if (left.length < majority) {
    const message =
      `${left.length} of ${members.length} members are left, and ${majority} are needed. What the others had is lost: ` +
      `create another EtcdCluster with spec.restore. The newest backup is in status.backups`;
    return { type, status: 'False', reason: 'MajorityLost', message };
  }
  return { type, status: 'False', reason: 'NoMajority', message: `No majority of ${members.join(', ')} answers` };
}

function progress({ reason, message }: Pick<Plan, 'reason' | 'message'>): ConditionChange {
  return { type: 'Progressing', status: reason === 'AsDesired' ? 'False' : 'True', reason, message };
}

function readyOf(pods: readonly Pod[], { members }: Membership): number {
  return pods.filter((pod) => isSettled(pod) && members.some(({ name }) => name === pod.metadata.name)).length;
}

async function writeStatus(
  cluster: EtcdCluster,
  pods: readonly Pod[],
  membership: Membership | undefined,
  changes: readonly ConditionChange[],
  backups: readonly { readonly file: string; readonly time: string }[] | undefined,
  { client, clock }: ReconcileContext,
  signal: AbortSignal,
): Promise<void> {
  const before = cluster.status ?? {};
  const { clusterId = membership?.clusterId, members } = before;
  const names = membership?.members.map(({ name }) => name).sort() ?? members;
  const status = {
    ...before,
    ...(clusterId === undefined ? {} : { clusterId }),
    ...(names === undefined ? {} : { members: names }),
    readyMembers: membership === undefined ? 0 : readyOf(pods, membership),
    ...(backups === undefined ? {} : { backups: [...backups] }),
    conditions: changes.reduce(
      (conditions, change) => withCondition(conditions, change, clock.now()),
      before.conditions ?? [],
    ),
  };
  if (!isDeepStrictEqual(status, before)) await client.updateStatus(ETCD_CLUSTERS, { ...cluster, status }, signal);
}
