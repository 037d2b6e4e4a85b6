import { atOnce } from '@gantry/base';
import { NO_POD_SECURITY_EXEMPTIONS } from '@gantry/kinds';
import type { KubeObject } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { NOT_AUDITED, type RequestAudit } from '../audit/index.ts';
import type { User } from '../auth/user.ts';
import { ADMIN, startHarness, definitionOf, type Harness, jsonBody, patchBody, WRITE } from '../registry/testing.ts';
import { type AdmissionReader, Reinvocation } from './check/admission-check.ts';
import { podSecurity } from './pod-security.ts';

const PREFIX = 'pod-security.kubernetes.io/';

describe('pod security', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  });

  const demand = (labels: Record<string, string>) => {
    const patch = new TextEncoder().encode(JSON.stringify({ metadata: { labels } }));
    const target = h.target('namespaces', 'n');
    return h.settle(h.registry.patch(h.context(), target, patchBody('application/merge-patch+json', patch), WRITE));
  };
  const spec = { containers: [{ name: 'c', image: 'i' }], hostPID: true };
  const pod = (name: string) => h.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });

  it('refuses pods below what is enforced, and warns of templates', async () => {
    await demand({ [`${PREFIX}enforce`]: 'baseline' });
    await expect(pod('p')).rejects.toMatchObject({
      reason: 'Forbidden',
      message: 'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    });
    await h.create('podtemplates', {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 't' },
      template: { spec },
    });
    expect(h.warnings).toContain('would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)');
  });

  it('warns of what is there when more is demanded, and refuses labels that mean nothing', async () => {
    await pod('b');
    await pod('a');
    await demand({ [`${PREFIX}enforce`]: 'baseline' });
    expect(h.warnings).toEqual([
      'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 1 other pod): host namespaces',
    ]);
    await expect(demand({ [`${PREFIX}enforce`]: 'some' })).rejects.toMatchObject({
      reason: 'Invalid',
      message: `Namespace "n" is invalid: metadata.labels[${PREFIX}enforce]: Invalid value: "some": must be one of privileged, baseline, restricted`,
    });
  });
});

describe('the exemptions of pod security', () => {
  const USER = { name: 'trusted', uid: '', groups: ['system:masters'], extra: {} };
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness({
      podSecurityExemptions: { usernames: ['trusted'], runtimeClasses: ['strong'], namespaces: ['default'] },
    });
    const labels = { [`${PREFIX}enforce`]: 'restricted', [`${PREFIX}warn`]: 'baseline' };
    const patch = new TextEncoder().encode(JSON.stringify({ metadata: { labels } }));
    for (const namespace of ['n', 'default']) {
      const metadata = { name: 'default', namespace };
      const account = jsonBody({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
      await h.settle(h.registry.create(h.context(), h.target('serviceaccounts', '', { namespace }), account, WRITE));
      const target = h.target('namespaces', namespace);
      await h.settle(h.registry.patch(h.context(), target, patchBody('application/merge-patch+json', patch), WRITE));
    }
    const metadata = { name: 'strong' };
    await h.create('runtimeclasses', { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata, handler: 'runc' });
  });

  /** Collects audit annotations. */
  const notes = () => {
    const noted = new Map<string, string>();
    const audit: RequestAudit = { ...NOT_AUDITED, annotate: (key, value) => void noted.set(key, value) };
    return { noted, audit };
  };

  const createPod = ({
    namespace = 'n',
    user = ADMIN,
    audit = NOT_AUDITED,
    ...change
  }: {
    namespace?: string;
    user?: User;
    audit?: RequestAudit;
    runtimeClassName?: string;
  }) => {
    const spec = { containers: [{ name: 'c', image: 'i' }], hostPID: true, ...change };
    const body = jsonBody({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    return h.settle(h.registry.create(h.context({ user, audit }), h.target('pods', '', { namespace }), body, WRITE));
  };

  it.each([
    [{ user: USER }, 'user'],
    [{ namespace: 'default' }, 'namespace'],
    [{ runtimeClassName: 'strong' }, 'runtimeClass'],
  ])('let %j pass without a warning, and the audit log say why', async (exempt, why) => {
    h.warnings.length = 0;
    const { noted, audit } = notes();
    await createPod({ ...exempt, audit });
    expect(h.warnings).toEqual([]);
    expect([...noted]).toEqual([[`${PREFIX}exempt`, why]]);
  });

  it('let templates of an exempt class pass without a warning, and the audit log say why', async () => {
    h.warnings.length = 0;
    const { noted, audit } = notes();
    const template = (runtimeClassName?: string) => ({
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        hostPID: true,
        ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
      },
    });
    const create = (name: string, runtimeClassName?: string) => {
      const body = jsonBody({
        apiVersion: 'v1',
        kind: 'PodTemplate',
        metadata: { name },
        template: template(runtimeClassName),
      });
      return h.settle(h.registry.create(h.context({ audit }), h.target('podtemplates', ''), body, WRITE));
    };
    await create('a', 'strong');
    expect(h.warnings).toEqual([]);
    expect([...noted]).toEqual([[`${PREFIX}exempt`, 'runtimeClass']]);
    await create('b');
    expect(h.warnings).toHaveLength(1);
  });

  it('are of exact names', async () => {
    await expect(createPod({})).rejects.toMatchObject({ reason: 'Forbidden' });
    await expect(createPod({ user: { ...USER, name: 'Trusted' } })).rejects.toMatchObject({ reason: 'Forbidden' });
    await expect(
      createPod({ user: { ...USER, name: 'x', groups: ['trusted', 'system:masters'] } }),
    ).rejects.toMatchObject({
      reason: 'Forbidden',
    });
  });

  it('warn when an exempt namespace demands a level', () => {
    expect(h.warnings).toContain(
      'namespace "default" is exempt from Pod Security, and the policy (enforce=restricted:latest, warn=baseline:latest) will be ignored',
    );
    expect(h.warnings.filter((text) => text.startsWith('namespace "n"'))).toEqual([]);
  });
});

it('pod security says in the audit log that labels of a namespace mean nothing, and what it enforced for them', async () => {
  const stored: KubeObject = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'n', labels: { [`${PREFIX}enforce`]: 'some', [`${PREFIX}audit`]: 'baseline' } },
  };
  const reader: AdmissionReader = {
    served: { definitions: [], findKind: () => undefined },
    find: <T>() => Promise.resolve(stored as T),
    findFresh: () => Promise.resolve(undefined),
    list: () => Promise.resolve([]),
  };
  const noted: Record<string, string> = {};
  const pod = { containers: [{ name: 'c', image: 'i' }], hostPID: true };
  const judged = podSecurity(NO_POD_SECURITY_EXEMPTIONS).validate?.(
    {
      operation: 'create',
      definition: definitionOf('pods'),
      kind: { group: '', version: 'v1', kind: 'Pod' },
      namespace: 'n',
      name: 'p',
      subresource: '',
      object: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: pod } as KubeObject,
      old: undefined,
      user: ADMIN,
      dryRun: false,
      options: {},
      compute: (work) => Promise.resolve(atOnce(work)),
      signal: new AbortController().signal,
      warn: () => undefined,
      annotate: (key, value) => void (noted[key] = value),
      reinvocation: new Reinvocation(),
      conditions: [],
      charged: new Map(),
    },
    reader,
  );
  await expect(judged).rejects.toMatchObject({ reason: 'Forbidden' });
  expect(noted).toEqual({
    [`${PREFIX}enforce-policy`]: 'restricted:latest',
    [`${PREFIX}audit-violations`]: expect.stringContaining('would violate PodSecurity "baseline:latest"'),
    [`${PREFIX}error`]: `Failed to parse policy: metadata.labels[${PREFIX}enforce]: Invalid value: "some": must be one of privileged, baseline, restricted`,
  });
});
