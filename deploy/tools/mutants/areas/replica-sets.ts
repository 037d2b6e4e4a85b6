import type { Mutant } from '../mutant.ts';

const CONTROLLERS = 'services/controller-manager/src/controllers';
const SETS = `${CONTROLLERS}/replica-set`;
const SET_PLAN = [`${SETS}/plan.test.ts`];
const SET_PROPERTIES = [`${SETS}/plan.properties.test.ts`];
const SET_SHELL = [`${SETS}/controller.test.ts`];
const SET_ORDER = [`${SETS}/rank.test.ts`];
const DEPLOYMENT = `${CONTROLLERS}/deployment`;
const SIZES = [`${DEPLOYMENT}/scaling.test.ts`];
const DEPLOYMENT_SHELL = [`${DEPLOYMENT}/controller.test.ts`];
const DEPLOYMENT_STATUS = [`${DEPLOYMENT}/status.test.ts`];
const DEPLOYMENT_ANNOTATIONS = [`${DEPLOYMENT}/annotations.test.ts`];
const POD_WRITES = [`${CONTROLLERS}/pods/pod-writes.test.ts`];

/** Deployments, ReplicaSets and ReplicationControllers. */
export const REPLICA_SET_MUTANTS: readonly Mutant[] = [
  {
    name: 'every conflict about a deletion means that another pod has the name',
    file: 'services/controller-manager/src/controllers/pods/pod-writes.shell.ts',
    text: 'return stored !== undefined && stored.metadata.uid === pod.metadata.uid;',
    replacement: 'return stored === undefined;',
    tests: [
      'services/controller-manager/src/controllers/pods/pod-writes.test.ts',
      'services/controller-manager/src/controllers/stateful-set/pod-writes.test.ts',
    ],
    protects: 'surplus pods from staying until something else changes',
  },
  {
    name: 'pods of another namespace count as those of a set',
    file: 'packages/controller-runtime/src/resource-index.ts',
    text: "(metadata.namespace ?? '') === namespace &&",
    replacement: "(metadata.namespace ?? '') !== '' &&",
    tests: [
      'services/controller-manager/src/controllers/replica-set/controller.test.ts',
      'packages/controller-runtime/src/informers.test.ts',
    ],
    protects: 'owners against references that users of other namespaces write',
  },
  {
    name: 'a set adopts from a cache that does not show its deletion',
    file: `${SETS}/controller.ts`,
    text: '!(await mayAdopt(client, resource, set, signal))',
    replacement: 'set.metadata === undefined',
    tests: SET_SHELL,
    protects: 'pods that were to outlive their set',
  },
  {
    name: 'pods that have ended are adopted and released',
    file: `${SETS}/plan.ts`,
    text: 'claimObjects(set, pods.filter(isActive), selects)',
    replacement: 'claimObjects(set, pods, selects)',
    tests: SET_PLAN,
    protects: 'the number of pods of a set',
  },
  {
    name: 'a set that is being deleted creates pods',
    file: `${SETS}/plan.ts`,
    text: '...(set.metadata.deletionTimestamp === undefined ? replicaActions(observed, claimed.active, now) : []),',
    replacement: '...replicaActions(observed, claimed.active, now),',
    tests: SET_PROPERTIES,
    protects: 'the end of a set in a foreground deletion',
  },
  {
    name: 'one plan creates all pods',
    file: `${SETS}/plan.ts`,
    text: 'count: Math.min(-surplus, BURST)',
    replacement: 'count: -surplus',
    tests: SET_PLAN,
    protects: 'other sets of the same worker',
  },
  {
    name: 'the deletion cost of a pod does not count',
    file: `${SETS}/rank.ts`,
    text: '    a.cost - b.cost ||\n',
    replacement: '',
    tests: SET_ORDER,
    protects: 'the pods that the user wants to keep',
  },
  {
    name: 'the newest failure replaces the first',
    file: `${SETS}/status.ts`,
    text: 'if (current.some(({ type }) => type === REPLICA_FAILURE)) return [...current];',
    replacement: '',
    tests: SET_PLAN,
    protects: 'the status from being written at every attempt',
  },
  {
    name: 'every pod that becomes ready is counted at once',
    file: `${CONTROLLERS}/pods/collecting-time.ts`,
    text: 'return pods < SMALL_SET ? 0 : Math.min(pods * MS_PER_POD, MAX_MS);',
    replacement: 'return Math.min(pods, 0);',
    tests: SET_SHELL,
    protects: 'the controller-manager, when a large set starts',
  },
  {
    name: 'a pod that ended in a large set is replaced late',
    file: `${SETS}/collecting.ts`,
    text: 'if (set === undefined || isUrgent(pod, old)) return 0;',
    replacement: 'if (set === undefined) return 0;',
    tests: [`${SETS}/collecting.test.ts`],
    protects: 'the size of a large set',
  },
  {
    name: 'creating pods goes on after a failure',
    file: `${CONTROLLERS}/pods/pod-writes.shell.ts`,
    text: '    const [failure] = failures.filter((error) => !isNamespaceTerminating(error));\n    if (failure !== undefined) throw failure;\n',
    replacement: '',
    tests: POD_WRITES,
    protects: 'the apiserver from a thousand creations beyond a quota',
  },
  {
    name: 'a terminating namespace is reported for every pod',
    file: `${CONTROLLERS}/pods/pod-writes.shell.ts`,
    text: '} else if (!isNamespaceTerminating(result.error)) {',
    replacement: '} else {',
    tests: POD_WRITES,
    protects: 'the Events of a namespace that is being deleted',
  },
  {
    name: 'a status that is older than the size lets a rollout take more pods',
    file: `${DEPLOYMENT}/scaling.ts`,
    text: 'Math.min(set.status?.availableReplicas ?? 0, replicas(set))',
    replacement: '(set.status?.availableReplicas ?? 0)',
    tests: SIZES,
    protects: 'maxUnavailable',
  },
  {
    name: 'what is left over of a proportional scaling is dropped',
    file: `${DEPLOYMENT}/scaling.ts`,
    text: 'Math.max(0, size.replicas + toAdd - added)',
    replacement: 'Math.max(0, size.replicas)',
    tests: SIZES,
    protects: 'the size of a Deployment that is scaled in a rollout',
  },
  {
    name: 'text in an annotation counts as a size',
    file: `${DEPLOYMENT}/scaling.ts`,
    text: 'return sizedFor !== undefined && sizedFor !== desiredReplicas(deployment);',
    replacement: 'return sizedFor !== desiredReplicas(deployment);',
    tests: SIZES,
    protects: 'a rollout, which a scaling holds up',
  },
  {
    name: 'unavailable pods are counted among those that exist',
    file: `${DEPLOYMENT}/status.ts`,
    text: 'Math.max(0, sum(all, (set) => set.spec?.replicas) - available)',
    replacement: 'Math.max(0, sum(all, (set) => set.status?.replicas) - available)',
    tests: DEPLOYMENT_STATUS,
    protects: 'kubectl describe of a Deployment whose pods cannot be created',
  },
  {
    name: 'a paused Deployment misses its deadline',
    file: `${DEPLOYMENT}/progress.ts`,
    text: ' || deployment.spec?.paused === true',
    replacement: '',
    tests: DEPLOYMENT_STATUS,
    protects: 'Deployments that are paused for long',
  },
  {
    name: 'a set that cannot be created is not in the status',
    file: `${DEPLOYMENT}/controller.ts`,
    text: 'if (failed !== undefined) await ignoreNotFound(client.updateStatus(DEPLOYMENTS, failed, signal));',
    replacement: 'if (failed === undefined) throw error;',
    tests: DEPLOYMENT_SHELL,
    protects: 'users who look for the reason',
  },
  {
    name: 'a Recreate does not wait for pods that end',
    file: `${DEPLOYMENT}/controller.ts`,
    text: "const isRecreate = deployment.spec?.strategy?.type === 'Recreate';",
    replacement: 'const isRecreate = deployment.spec === undefined;',
    tests: DEPLOYMENT_SHELL,
    protects: 'applications of which two versions must not run at once',
  },
  {
    name: 'the history of revisions grows without end',
    file: `${DEPLOYMENT}/annotations.ts`,
    text: 'while (length > MAX_HISTORY && revisions.length > 0)',
    replacement: 'while (length < 0)',
    tests: DEPLOYMENT_ANNOTATIONS,
    protects: 'annotations, whose size is limited',
  },
  {
    name: 'a rollback keeps its request',
    file: `${DEPLOYMENT}/rollback.ts`,
    text: '  if (copy.metadata.annotations !== undefined) delete copy.metadata.annotations[ROLLBACK_TO];\n',
    replacement: '',
    tests: DEPLOYMENT_ANNOTATIONS,
    protects: 'a Deployment from being rolled back for ever',
  },
  {
    name: 'adoption finds objects that have a controller by now',
    file: 'packages/controller-runtime/src/resource-index.ts',
    text: "if (this.#uncontrolled !== undefined) drop(this.#uncontrolled, object.metadata.namespace ?? '', key);",
    replacement: '',
    tests: ['packages/controller-runtime/src/informers.test.ts'],
    protects: 'the memory of the controller-manager',
  },
];
