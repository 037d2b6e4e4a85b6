import { atOnce, type InTurns } from '@gantry/base';
import { type KubeObject, type Pod, type PodSpec, StatusError } from '@gantry/objects';
import { must, seededRandom, systemClock } from '@gantry/base';
import { NO_POD_SECURITY_EXEMPTIONS } from '@gantry/kinds';
import { describe, expect, it } from 'vitest';
import { allowAll, definitionOf } from '../registry/testing.ts';
import { type AdmissionReader, type AdmissionRequest, createAdmissionChecks, Reinvocation } from './index.ts';

const pods = definitionOf('pods');
const checks = createAdmissionChecks({
  random: seededRandom(1),
  clock: systemClock,
  newUid: () => 'u',
  caller: { post: () => Promise.reject(new Error('no webhooks')), close: () => undefined },
  quotaCharges: {
    begin: () => Promise.resolve({ key: 'k', resourceVersion: 'absent' }),
    updateStatus: () => Promise.resolve({ kind: 'updated' }),
  },
  access: allowAll,
  lookup: { get: () => undefined, podsOnNode: () => [], ingressesIn: () => [], hasExpired: () => true },
  defaultTolerationSeconds: 5,
  podSecurityExemptions: NO_POD_SECURITY_EXEMPTIONS,
});

/** Runs the checks on a new pod in namespace `n`, which contains the objects `stored`. Returns the spec of the pod. */
async function admit(spec: Partial<PodSpec>, stored: Record<string, object> = {}): Promise<PodSpec> {
  const objects: Record<string, object> = { namespaces: {}, serviceaccounts: {}, ...stored };
  const reader: AdmissionReader = {
    served: { definitions: [], findKind: () => undefined },
    find: <T extends KubeObject>({ resource }: { resource: string }, _namespace: string, name: string) =>
      Promise.resolve(resource === 'priorityclasses' ? undefined : ({ metadata: { name }, ...objects[resource] } as T)),
    findFresh: () => Promise.resolve(undefined),
    list: () => Promise.resolve([]),
  };
  const pod: Pod & KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n' },
    spec: { containers: [{ name: 'c' }], ...spec },
  };
  const request = {
    operation: 'create',
    definition: pods,
    kind: { group: '', version: 'v1', kind: 'Pod' },
    namespace: 'n',
    name: 'p',
    subresource: '',
    object: pod,
    old: undefined,
    user: { name: 'u', uid: '', groups: [], extra: {} },
    dryRun: false,
    options: {},
    compute: <T>(work: InTurns<T>) => Promise.resolve(atOnce(work)),
    signal: new AbortController().signal,
    warn: () => undefined,
    annotate: () => undefined,
    reinvocation: new Reinvocation(),
    conditions: [] as AdmissionRequest['conditions'],
    charged: new Map(),
  } as const;
  for (const check of checks) await check.mutate?.(request, reader);
  const once = structuredClone(pod);
  for (const check of checks) await check.mutate?.(request, reader);
  expect(pod).toEqual(once);
  return must(pod.spec, 'spec');
}

describe('the admission checks', () => {
  it('leave tolerations alone that say something about lost nodes', async () => {
    const own = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', tolerationSeconds: 60 };
    const { tolerations } = await admit({ tolerations: [own] });
    expect(tolerations).toEqual([
      own,
      { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
    ]);
    const everything = { operator: 'Exists' };
    expect((await admit({ tolerations: [everything] })).tolerations).toEqual([everything]);
  });

  it('mount no token where the pod or its account declines', async () => {
    expect((await admit({ automountServiceAccountToken: false })).volumes).toBeUndefined();
    const declined = { serviceaccounts: { automountServiceAccountToken: false } };
    expect((await admit({}, declined)).volumes).toBeUndefined();
    expect((await admit({ automountServiceAccountToken: true }, declined)).volumes?.length).toBe(1);
  });

  it('mount the token into every container that has nothing of its own there', async () => {
    const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
    const spec = await admit({
      initContainers: [{ name: 'i' }],
      containers: [{ name: 'c', volumeMounts: [{ name: 'own', mountPath }] }, { name: 'd' }],
      volumes: [{ name: 'own', emptyDir: {} }],
    });
    const token = must(spec.volumes?.[1], 'the volume').name;
    expect(token).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(spec.initContainers?.[0]?.volumeMounts).toEqual([{ name: token, readOnly: true, mountPath }]);
    expect(spec.containers.map((container) => container.volumeMounts?.map(({ name }) => name))).toEqual([
      ['own'],
      [token],
    ]);
  });

  it("give a pod its account's pull secrets unless it names its own", async () => {
    const stored = { serviceaccounts: { imagePullSecrets: [{ name: 'x' }] } };
    expect((await admit({}, stored)).imagePullSecrets).toEqual([{ name: 'x' }]);
    expect((await admit({ imagePullSecrets: [{ name: 'y' }] }, stored)).imagePullSecrets).toEqual([{ name: 'y' }]);
  });

  it('know the two priority classes of the system and no other', async () => {
    expect((await admit({ priorityClassName: 'system-node-critical' })).priority).toBe(2_000_001_000);
    expect(await admit({})).toMatchObject({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
    await expect(admit({ priorityClassName: 'x' })).rejects.toThrow(
      'pods "p" is forbidden: no PriorityClass with name x was found',
    );
  });

  it('let nothing into a namespace that is going away', async () => {
    const refused = admit({}, { namespaces: { status: { phase: 'Terminating' } } });
    await expect(refused).rejects.toBeInstanceOf(StatusError);
  });
});
