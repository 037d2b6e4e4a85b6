import type { Mutant } from '../mutant.ts';

const BINDER = 'services/controller-manager/src/controllers/persistent-volume';
const PLAN_TESTS = [`${BINDER}/plan.test.ts`];
const SHELL_TESTS = [`${BINDER}/controller.test.ts`];
const OBJECTS = 'packages/objects/src/volumes';
const AGENT = 'services/agent/src/volumes';
const FOLDER_TESTS = [`${AGENT}/persistent-folders.test.ts`];
const RECLAIM_TESTS = [`${AGENT}/volume-reclaimer.test.ts`];
const SCHEDULER = 'services/scheduler/src';
const SCHEDULER_TESTS = [`${SCHEDULER}/volume-work.test.ts`];
const AUTHORIZER_TESTS = ['services/apiserver/src/auth/authz/authorizer.test.ts'];

/** Volumes: which claim has which, what is mounted where, and what is deleted. */
export const VOLUME_MUTANTS: readonly Mutant[] = [
  {
    name: 'a volume is removed while containers of a pod that is gone use it',
    file: 'services/agent/src/volumes/volume-reclaimer.ts',
    text: 'if (folder !== undefined && folders.isHeld(folder)) return true;',
    replacement: '',
    tests: ['services/agent/src/volumes/volume-reclaimer.test.ts'],
    protects: 'the host from links that a container makes while its volume is removed',
  },
  {
    name: 'a volume of another claim is bound',
    file: `${OBJECTS}/match-volume.ts`,
    text: 'if (volume.spec?.claimRef !== undefined && !isReserved) continue;',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'data of one claim from the pods of another',
  },
  {
    name: 'a reference to an earlier claim of the same name counts',
    file: `${OBJECTS}/volume-binding.ts`,
    text: "return (reference.uid ?? '') === '' || reference.uid === metadata.uid;",
    replacement: 'return true;',
    tests: PLAN_TESTS,
    protects: 'data of a deleted claim from a new one of its name',
  },
  {
    name: 'a volume is released without a look at the store',
    file: `${BINDER}/controller.ts`,
    text: 'const stored = await ignoreNotFound(client.get(PERSISTENT_VOLUME_CLAIMS, key, signal));',
    replacement: 'const stored = undefined as PersistentVolumeClaim | undefined;',
    tests: SHELL_TESTS,
    protects: 'volumes whose claim the cache does not show yet: their data would be deleted',
  },
  {
    name: 'what the binder has written is not known before the cache shows it',
    file: 'packages/controller-runtime/src/indexed-objects.ts',
    text: 'if (this.#known(object)?.metadata.uid === object.metadata.uid) this.#put(object);',
    replacement: '',
    tests: ['packages/controller-runtime/src/indexed-objects.test.ts'],
    protects: 'the second of two claims: it would be bound to the volume of the first',
  },
  {
    name: 'a second claim on a volume stays bound',
    file: `${BINDER}/plan.ts`,
    text: 'if (reference === undefined || reference.uid === claim.metadata.uid) return planBinding(volume, claim);',
    replacement: 'return planBinding(volume, claim);',
    tests: PLAN_TESTS,
    protects: 'the claim that has the volume: its reference would be overwritten',
  },
  {
    name: 'a path outside of the folder of volumes is a folder',
    file: `${OBJECTS}/local-path.ts`,
    text: 'if (!path.startsWith(`${VOLUMES_FOLDER}/`)) return undefined;',
    replacement: '',
    tests: FOLDER_TESTS,
    protects: 'folders that an agent makes and removes from lying elsewhere',
  },
  {
    name: 'a path with several components is a folder',
    file: `${OBJECTS}/local-path.ts`,
    text: "const isComponent = folder !== '' && folder !== '.' && folder !== '..' && !/[/\\0]/.test(folder);",
    replacement: "const isComponent = folder !== '';",
    tests: FOLDER_TESTS,
    protects: 'what lies above the folder of volumes, in two places: this one gives the message',
  },
  {
    name: 'a path in the folder of volumes is one of the host',
    file: `${AGENT}/persistent-folders.ts`,
    text: 'if (isInVolumesFolder(source.path)) {',
    replacement: "if (source.path === '') {",
    tests: FOLDER_TESTS,
    protects: 'administrators from a volume that is made on the host where they mean one of the agent',
  },
  {
    name: 'a volume is mounted for a claim that it does not refer to',
    file: `${AGENT}/persistent-folders.ts`,
    text: 'if (found.spec?.claimRef?.uid !== claim.metadata.uid)',
    replacement: 'if (found.spec === undefined)',
    tests: FOLDER_TESTS,
    protects: 'volumes from claims that name them without having them: who writes claims could read any volume',
  },
  {
    name: 'a volume of another node is made anew',
    file: `${AGENT}/persistent-folders.ts`,
    text: 'if (node !== undefined && reachesVolume(node, volume)) return;',
    replacement: 'if (node !== undefined) return;',
    tests: FOLDER_TESTS,
    protects: 'a pod that names its node: it would start with an empty folder',
  },
  {
    name: 'a retained volume is deleted',
    file: `${OBJECTS}/local-path.ts`,
    text: "spec?.persistentVolumeReclaimPolicy === 'Delete' &&",
    replacement: '',
    tests: RECLAIM_TESTS,
    protects: 'data that an administrator wants to keep',
  },
  {
    name: 'a volume is deleted under its pod',
    file: `${AGENT}/volume-reclaimer.ts`,
    text: 'if (await this.#isUsed(volume, folder, signal)) return;',
    replacement: '',
    tests: RECLAIM_TESTS,
    protects: 'pods whose claim was removed by force',
  },
  {
    name: 'an agent deletes volumes of other nodes',
    file: `${OBJECTS}/local-path.ts`,
    text: 'metadata.labels?.[VOLUME_NODE_LABEL] === node &&',
    replacement: '',
    tests: AUTHORIZER_TESTS,
    protects: 'volumes from the agent of a node that was taken over',
  },
  {
    name: 'an agent deletes volumes that are in use',
    file: `${OBJECTS}/local-path.ts`,
    text: "(status?.phase === 'Released' || status?.phase === 'Failed')",
    replacement: 'status !== undefined',
    tests: AUTHORIZER_TESTS,
    protects: 'bound volumes of its node',
  },
  {
    name: 'a pod starts before its volumes are bound',
    file: `${SCHEDULER}/volume-work.ts`,
    text: 'if (hasDelayedClaims(assignment.pod.volumes)) await bindVolumesOf(options, assignment, signal);\n    else ready.push(assignment);',
    replacement: 'ready.push(assignment);',
    tests: SCHEDULER_TESTS,
    protects: 'claims that wait for a node: none would be named to their provisioner',
  },
  {
    name: 'the room of a pod that waits for volumes is given away',
    file: `${SCHEDULER}/volume-work.ts`,
    text: '  view.keeper.assume(pod, nodeName);\n',
    replacement: '',
    tests: SCHEDULER_TESTS,
    protects: 'a pod whose volume was just made: its node, the only one that has it, would be full',
  },
  {
    name: 'a pod whose volume is not seen yet gives its room back',
    file: `${SCHEDULER}/volume-work.ts`,
    text: "if (volumes.kind === 'claims' && volumes.bound.includes(undefined)) return true;",
    replacement: '',
    tests: SCHEDULER_TESTS,
    protects: 'a pod whose claim is seen before its volume: it would be refused',
  },
  {
    name: 'two pods in one cycle choose volumes',
    file: `${SCHEDULER}/volume-work.ts`,
    text: 'else if (chooses) queue.postpone(pod);',
    replacement: 'else if (!chooses && queue === undefined) queue.postpone(pod);',
    tests: SCHEDULER_TESTS,
    protects: 'two pods of one claim from being sent to two nodes',
  },
  {
    name: 'a folder is given to who asks for a device',
    file: `${AGENT}/persistent-folders.ts`,
    text: 'checkVolumeMode(pod, volume, found);',
    replacement: '',
    tests: [`${AGENT}/persistent-folders.test.ts`],
    protects: 'a pod that names a claim in volumeDevices from running without it',
  },
  {
    name: 'every part of what lies on the host sees later mounts',
    file: `${AGENT}/pod-volumes.ts`,
    text: "return wanted === 'none' ? 'none' : 'from-host';",
    replacement: "return 'from-host';",
    tests: [`${AGENT}/pod-volumes.test.ts`],
    protects: 'what the host mounts below a part from a pod that asked for none of it',
  },
  {
    name: 'a part of what lies on the host is mounted as if its own mounts went to the host',
    file: `${AGENT}/pod-volumes.ts`,
    text: "if (wanted !== 'both' || hostPathOf(",
    replacement: "if (wanted !== 'none' || hostPathOf(",
    tests: [`${AGENT}/pod-volumes.test.ts`],
    protects: 'a pod whose mounts the host would never see, without a word',
  },
];
