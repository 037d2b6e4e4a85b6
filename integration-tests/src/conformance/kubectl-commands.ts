import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import type { KubectlVersion } from '../harness/kubectl-versions.ts';
import { deployment, PAUSE } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const CLIENT = '[sig-cli] Kubectl client';
const STARTED_MS = 120_000;

/** The same with the oldest and the newest kubectl, each in a namespace of its own. */
function withEach(
  codename: string,
  prove: (world: World, version: KubectlVersion, namespace: string) => Promise<void>,
): Proof {
  return proof(codename, async (world) => {
    for (const version of world.cluster.kubectls) await prove(world, version, await world.namespace());
  });
}

/** What a proxy answers for /api. */
async function apiVersionsThrough(at: { port: number } | { socketPath: string }): Promise<readonly string[]> {
  return await new Promise((done, reject) => {
    const call = request({ ...at, path: '/api/', timeout: 5_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('end', () => done((JSON.parse(text) as { versions: string[] }).versions));
    });
    call.once('error', reject);
    call.end();
  });
}

export const KUBECTL_PROOFS: readonly Proof[] = [
  withEach(
    `${CLIENT} Kubectl api-versions should check if v1 is in available api versions [Conformance]`,
    async (world, version) => {
      expect((await world.mustKubectl(version, ['api-versions'])).trim().split('\n')).toContain('v1');
    },
  ),

  withEach(
    `${CLIENT} Kubectl cluster-info should check if Kubernetes control plane services is included in cluster-info [Conformance]`,
    async (world, version) => {
      const output = await world.mustKubectl(version, ['cluster-info']);
      for (const part of ['Kubernetes control plane', 'is running at']) expect(output).toContain(part);
    },
  ),

  withEach(`${CLIENT} Kubectl version should check is all data is printed [Conformance]`, async (world, version) => {
    const output = await world.mustKubectl(version, ['version']);
    // Kubectls before 1.28 print a structure, which is as good.
    const number = String.raw`v\d\.\d+\.[\w.+-]+`;
    const structure = String.raw`version\.Info\{Major:"\d", Minor:"\d+\+?", GitVersion:"${number}", GitCommit:"[0-9a-f]+"`;
    for (const side of ['Client', 'Server'])
      expect(output).toMatch(new RegExp(`${side} Version: (${number}|${structure})`));
  }),

  withEach(
    `${CLIENT} Kubectl diff should check if kubectl diff finds a difference for Deployments [Conformance]`,
    async (world, version, namespace) => {
      const document = JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', ...deployment('web', 1) });
      const inNamespace = ['-n', namespace];
      await world.mustKubectl(version, [...inNamespace, 'create', '-f', '-'], document);
      const changed = document.replaceAll(PAUSE, 'busybox:1.37');
      const diff = await world.kubectl(version, [...inNamespace, 'diff', '-f', '-'], changed);
      expect(diff.code).toBe(1);
      for (const image of [PAUSE, 'busybox:1.37']) expect(diff.stdout).toContain(image);
      await world.mustKubectl(version, [...inNamespace, 'delete', '-f', '-'], document);
    },
  ),

  withEach(
    `${CLIENT} Kubectl run pod should create a pod from an image when restart is Never [Conformance]`,
    async (world, version, namespace) => {
      const run = ['run', 'e2e-test-pod', '--restart=Never', `--image=${PAUSE}`];
      await world.mustKubectl(version, ['-n', namespace, ...run]);
      const made = await world.core.readNamespacedPod({ name: 'e2e-test-pod', namespace });
      expect(made.spec).toMatchObject({ restartPolicy: 'Never', containers: [{ image: PAUSE }] });
    },
  ),

  withEach(
    `${CLIENT} Kubectl server-side dry-run should check if kubectl can dry-run update Pods [Conformance]`,
    async (world, version, namespace) => {
      const name = 'e2e-test-pod';
      const kubectl = (...args: string[]) => world.mustKubectl(version, ['-n', namespace, ...args]);
      await kubectl('run', name, `--image=${PAUSE}`, `--labels=run=${name}`);
      const change = { spec: { containers: [{ name, image: 'busybox:1.37' }] } };
      await kubectl('patch', 'pod', name, '-p', JSON.stringify(change), '--dry-run=server');
      const found = await world.core.readNamespacedPod({ name, namespace });
      expect(found.spec?.containers).toMatchObject([{ image: PAUSE }]);
      await kubectl('delete', 'pods', name, '--wait=false');
    },
  ),

  withEach(`${CLIENT} Proxy server should support proxy with --port 0 [Conformance]`, async (world, version) => {
    await using proxy = world.startKubectl(version, ['proxy', '-p', '0', '--disable-filter']);
    const port = await eventually(
      'the proxy says its port',
      STARTED_MS,
      () => /Starting to serve on 127\.0\.0\.1:(\d+)/.exec(proxy.output())?.[1],
    );
    expect(await apiVersionsThrough({ port: Number(port) })).toContain('v1');
  }),

  withEach(`${CLIENT} Proxy server should support --unix-socket=/path [Conformance]`, async (world, version) => {
    const folder = await mkdtemp(join(tmpdir(), 'kubectl-proxy-'));
    world.atEnd(() => rm(folder, { recursive: true }));
    const socketPath = join(folder, 'test');
    await using proxy = world.startKubectl(version, ['proxy', `--unix-socket=${socketPath}`]);
    await eventually('the proxy serves', STARTED_MS, () => proxy.output().includes('Starting to serve on'));
    expect(await apiVersionsThrough({ socketPath })).toContain('v1');
  }),
];
