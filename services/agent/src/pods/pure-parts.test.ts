import { describe, expect, it } from 'vitest';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { Container } from '@gantry/api';
import { isAgentError } from '../agent-error.ts';
import { container, pod } from '../testing/pods.ts';
import { AddressPool, podRange } from './addresses.ts';
import { containerSpec } from './container-spec.ts';
import { type ConfigSource, containerEnvironment } from './environment.ts';
import { expand } from './expand.ts';
import { isImageReference } from './images.ts';
import { containerPath } from './pod-containers.ts';
import { oomScore, resourceLimits } from './resources.ts';
import { formatDelay } from './restart-delay.ts';

const signal = new AbortController().signal;

describe('expand', () => {
  it.each([
    ['$(A)-$(B)', '1-$(B)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A $( $(A', '$A $( $(A'],
  ])('%s gives %s', (text, expected) => {
    expect(expand(text, new Map([['A', '1']]))).toBe(expected);
  });
});

describe('images', () => {
  it.each(['nginx', 'nginx:1.27', 'localhost:5000/a/b_c:x', 'registry.k8s.io/pause@sha256:' + 'a'.repeat(64)])(
    '%s is a name',
    (image) => {
      expect(isImageReference(image)).toBe(true);
    },
  );
  it.each(['', 'NGINX', 'a b', 'nginx:', 'nginx:a/b', '-x'])('%j is none', (image) => {
    expect(isImageReference(image)).toBe(false);
  });
});

describe('paths of containers', () => {
  it('tell init containers from the others', () => {
    const both = pod({ initContainers: [container('a')], containers: [container('b')] });
    expect(containerPath(both, 'a')).toBe('spec.initContainers{a}');
    expect(containerPath(both, 'b')).toBe('spec.containers{b}');
  });
});

describe('addresses', () => {
  it('leaves the first quarter of the range and the broadcast address out', () => {
    expect(podRange('10.1.0.0/24')).toEqual({ first: 0x0a010040, last: 0x0a0100fe });
    expect(() => podRange('10.1.0.0')).toThrow('pod range');
  });

  it('rotates, and gives no address again before its rest is over', async () => {
    const clock = new ManualClock();
    const pool = new AddressPool('10.1.0.0/28', clock, seededRandom(1));
    const first = Array.from({ length: 11 }, () => pool.take());
    expect(new Set(first).size).toBe(11);
    expect(pool.take()).toBe(first[0]);
    for (const address of first) pool.rest(address);
    expect(() => pool.take()).toThrow(expect.toSatisfy((error) => isAgentError(error, 'NoAddress')));
    await clock.advance(60_000);
    expect(first).toContain(pool.take());
  });
});

describe('resources', () => {
  it.each([
    [{}, { cpuShares: 2 }],
    [{ requests: { cpu: '100m' } }, { cpuShares: 102 }],
    [{ limits: { cpu: '500m', memory: '64Mi' } }, { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 67_108_864 }],
    [{ limits: { cpu: '1m' } }, { cpuShares: 2, cpuQuotaMicros: 1000 }],
  ])('%j become %j', (resources, expected) => {
    expect(resourceLimits(container('main', { resources }))).toEqual(expected);
  });

  it('scores by class, never below zero where the engine refuses it', () => {
    const limited = container('main', { resources: { requests: { memory: '1Gi' } } });
    const of = (qosClass: string) => oomScore(pod({}, { qosClass }), limited, 4 * 2 ** 30, 'full');
    expect([of('Guaranteed'), of('Burstable'), of('BestEffort')]).toEqual([-997, 750, 1000]);
    expect(oomScore(pod({}, { qosClass: 'Guaranteed' }), limited, 1, 'no-sys-resource')).toBe(0);
  });
});

it('durations are written as Go writes them', () => {
  expect([10_000, 60_000, 80_000, 300_000].map(formatDelay)).toEqual(['10s', '1m0s', '1m20s', '5m0s']);
});

describe('a container’s variables', () => {
  const source: ConfigSource = {
    configMap: async (_namespace, name) =>
      name === 'settings' ? { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { mode: 'fast' } } : undefined,
    secret: async (_namespace, name) =>
      name === 'keys' ? { apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { token: 'c2VjcmV0' } } : undefined,
  };
  const facts = { nodeName: 'node-a', hostAddress: '10.0.0.1', cpus: 4, memoryBytes: 2 ** 30 };
  const resolve = (change: Partial<Container>) =>
    containerEnvironment(
      container('main', change),
      { pod: pod({}, {}, { labels: { app: 'x' } }), podAddress: '10.0.0.9', facts, source, base: { BASE: 'b' } },
      signal,
    ).then((variables) => Object.fromEntries(variables));

  it('come from all sources, later ones winning', async () => {
    expect(
      await resolve({
        envFrom: [
          { prefix: 'P_', configMapRef: { name: 'settings' } },
          { secretRef: { name: 'keys' } },
          { configMapRef: { name: 'none', optional: true } },
        ],
        env: [
          { name: 'PLAIN', value: '$(BASE)-$(P_mode)-$(LATER)' },
          { name: 'LATER', value: 'l' },
          { name: 'FROM_MAP', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } },
          { name: 'FROM_SECRET', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
          { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 'keys', key: 'none', optional: true } } },
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          { name: 'BASE', value: 'own' },
        ],
      }),
    ).toEqual({
      BASE: 'own',
      P_mode: 'fast',
      token: 'secret',
      PLAIN: 'b-fast-$(LATER)',
      LATER: 'l',
      FROM_MAP: 'fast',
      FROM_SECRET: 'secret',
      POD: 'web',
      LABEL: 'x',
      IP: '10.0.0.9',
      CPUS: '4',
    });
  });

  it.each([
    [{ envFrom: [{ secretRef: { name: 'none' } }] }, 'secret "none" not found'],
    [
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'none', key: 'k' } } }] },
      'configmap "none" not found',
    ],
    [
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } }] },
      "couldn't find key k in Secret default/keys",
    ],
  ])('%j fail with kubelet’s words', async (change, message) => {
    await expect(resolve(change)).rejects.toMatchObject({ code: 'CreateContainerConfigError', message });
  });
});

describe('a container for the runtime', () => {
  const image = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '' };
  const spec = (change: Partial<Container>, user = '') =>
    containerSpec({
      owner: { cluster: 'c', node: 'n' },
      pod: pod({ securityContext: { fsGroup: 2000 } }),
      container: container('main', change),
      attempt: 0,
      sandboxId: 's',
      restartDelayMs: 0,
      environment: new Map([['NAME', 'world']]),
      mounts: [],
      image: { ...image, user },
      engine: 'full',
      capacityBytes: 2 ** 30,
    });

  it('takes command and arguments apart as Kubernetes does', () => {
    expect(spec({})).not.toHaveProperty('command');
    expect(spec({ args: ['hello $(NAME)'] })).toMatchObject({ args: ['hello world'] });
    expect(spec({ command: ['echo'], args: ['$(NAME)'] })).toMatchObject({ command: ['echo'], args: ['world'] });
  });

  it('translates the security context', () => {
    expect(
      spec({
        securityContext: {
          runAsUser: 1000,
          runAsGroup: 3000,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
        },
      }),
    ).toMatchObject({
      security: { user: '1000:3000', groups: ['2000'], rootFilesystem: 'read-only', escalation: 'denied' },
    });
  });

  it.each([
    [{ runAsNonRoot: true }, '', 'container has runAsNonRoot and image will run as root'],
    [{ runAsNonRoot: true, runAsUser: 0 }, '5', "container's runAsUser breaks non-root policy"],
    [{ runAsNonRoot: true }, 'www', 'container has runAsNonRoot and image has non-numeric user (www)'],
  ])('refuses %j for an image of user %j', (securityContext, user, message) => {
    expect(() => spec({ securityContext }, user)).toThrow(message);
  });
});
