import { DEPLOYMENTS } from '@gantry/objects';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { Cluster, httpStatus, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();

/** The words of a table's head line. */
const head = (text: string) => (text.split('\n')[0] ?? '').trim().split(/\s{2,}/);

// Each version in a namespace of its own, beside the others; its own tests build on each other.
describe.concurrent.each(cluster.kubectls)('kubectl $name', (version) => {
  let namespace = '';
  let manifest = '';
  const run = (args: readonly string[], input?: string) =>
    cluster.kubectl(['-n', namespace, ...args], { version, ...(input === undefined ? {} : { input }) });
  const must = (args: readonly string[], input?: string) =>
    cluster.mustKubectl(['-n', namespace, ...args], { version, ...(input === undefined ? {} : { input }) });

  /** The name of a pod that is not about to end. */
  const lastingPod = async () => {
    const pods = await cluster.pods(namespace);
    return pods.find(({ metadata }) => metadata.deletionTimestamp === undefined)?.metadata.name ?? '';
  };

  beforeAll(async () => {
    const made = await cluster.namespace();
    namespace = made.name;
    manifest = join(cluster.home, `web-${version.minor}.yaml`);
  });
  afterAll(async () => {
    await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  test.sequential('apply creates, changes, and leaves alone', async () => {
    writeFileSync(manifest, stringify(nginxDeployment('web', 2)));
    expect(await must(['apply', '-f', manifest])).toBe('deployment.apps/web created\n');
    expect(await must(['apply', '-f', manifest])).toBe('deployment.apps/web unchanged\n');
    // Whatever is written between its two looks is a difference.
    await cluster.untilRolledOut(namespace, 'web');
    await eventually('there is no difference', 60_000, async () => (await must(['diff', '-f', manifest])) === '');
    writeFileSync(manifest, stringify(nginxDeployment('web', 3)));
    const diff = await run(['diff', '-f', manifest]);
    expect(diff.code).toBe(1);
    expect(diff.stdout).toMatch(/^-\s+replicas: 2$/m);
    expect(diff.stdout).toMatch(/^\+\s+replicas: 3$/m);
    expect(await must(['apply', '-f', manifest])).toBe('deployment.apps/web configured\n');
  });

  test.sequential('rollout status waits for the end of a rollout', async () => {
    expect(await must(['rollout', 'status', 'deployment/web', '--timeout=180s'])).toContain(
      'deployment "web" successfully rolled out',
    );
  });

  test.sequential('get prints the columns of Kubernetes', async () => {
    expect(head(await must(['get', 'deploy', '-o', 'wide']))).toEqual([
      'NAME',
      'READY',
      'UP-TO-DATE',
      'AVAILABLE',
      'AGE',
      'CONTAINERS',
      'IMAGES',
      'SELECTOR',
    ]);
    expect(head(await must(['get', 'rs', '-o', 'wide']))).toEqual([
      'NAME',
      'DESIRED',
      'CURRENT',
      'READY',
      'AGE',
      'CONTAINERS',
      'IMAGES',
      'SELECTOR',
    ]);
    const pods = await must(['get', 'pods', '-o', 'wide']);
    expect(head(pods)).toEqual([
      'NAME',
      'READY',
      'STATUS',
      'RESTARTS',
      'AGE',
      'IP',
      'NODE',
      'NOMINATED NODE',
      'READINESS GATES',
    ]);
    expect(pods.match(/1\/1\s+Running/g)?.length).toBe(3);
    expect(head(await must(['get', 'nodes', '-o', 'wide'])).slice(0, 6)).toEqual([
      'NAME',
      'STATUS',
      'ROLES',
      'AGE',
      'VERSION',
      'INTERNAL-IP',
    ]);
    expect(await must(['get', 'deploy,rs,pods', '-o', 'wide'])).toContain('deployment.apps/web');
    expect(await must(['get', 'deploy', 'web', '-o', 'jsonpath={.spec.replicas}'])).toBe('3');
    const missing = await run(['get', 'pod', 'absent']);
    expect(missing).toMatchObject({ code: 1, stderr: 'Error from server (NotFound): pods "absent" not found\n' });
  });

  test.sequential('describe shows the Deployment, its pods and their events', async () => {
    const deployment = await must(['describe', 'deployment', 'web']);
    expect(deployment).toContain('3 desired | 3 updated | 3 total | 3 available | 0 unavailable');
    await eventually('its Events are shown', 60_000, async () =>
      (await must(['describe', 'deployment', 'web'])).includes('ScalingReplicaSet'),
    );
    await eventually('a pod has events about its start', 60_000, async () => {
      const pods = await must(['describe', 'pod', await lastingPod()]);
      for (const reason of ['Scheduled', 'Pulled', 'Created', 'Started']) expect(pods).toContain(reason);
      return true;
    });
    expect(await must(['describe', 'nodes'])).toContain('Allocated resources');
  });

  test.sequential('get -w shows what happens', async () => {
    await using watching = cluster.startKubectl(['-n', namespace, 'get', 'pods', '-w'], version);
    await eventually('the watch begins', 60_000, () => watching.output().includes('Running'));
    await must(['scale', 'deployment', 'web', '--replicas=4']);
    await eventually('a new pod is seen', 60_000, () => watching.output().includes('Pending'));
    // Of a start of less than a second, nothing is told in between.
    const late = { spec: { volumes: [{ name: 'late', configMap: { name: 'late' } }] } };
    await must(['run', 'waits', '--image=nginx:1.7.9', `--overrides=${JSON.stringify(late)}`]);
    await eventually('a pod that waits for a volume is seen', 60_000, () =>
      /^waits .*ContainerCreating/m.test(watching.output()),
    );
    await must(['delete', 'pod', 'waits', '--now']);
    await must(['rollout', 'status', 'deployment/web', '--timeout=180s']);
    await must(['scale', 'deployment', 'web', '--replicas=2']);
    await eventually('two pods are seen to end', 60_000, () => {
      const ending = watching.output().matchAll(/^(web-\S+) .*Terminating/gm);
      return new Set([...ending].map(([, name]) => name)).size >= 2;
    });
  });

  test.sequential('logs -f follows a container', async () => {
    const pod = await lastingPod();
    const address = await must(['get', 'pod', pod, '-o', 'jsonpath={.status.podIP}']);
    await using following = cluster.startKubectl(['-n', namespace, 'logs', '-f', pod], version);
    // A container without a probe is ready before its server listens.
    await eventually('the pod answers', 60_000, () => httpStatus(`http://${address}/followed-${version.minor}`));
    await eventually('the request is in the log', 60_000, () =>
      following.output().includes(`/followed-${version.minor}`),
    );
    expect(await must(['logs', pod, '--tail=1'])).toContain(`/followed-${version.minor}`);
  });

  test.sequential('set image, rollout history, undo, pause and resume', async () => {
    await must(['set', 'image', 'deployment/web', 'nginx=nginx:1.9.1']);
    await must(['rollout', 'status', 'deployment/web', '--timeout=180s']);
    const history = await must(['rollout', 'history', 'deployment/web']);
    expect(history).toMatch(/^1\s/m);
    expect(history).toMatch(/^2\s/m);
    expect(await must(['rollout', 'undo', 'deployment/web'])).toBe('deployment.apps/web rolled back\n');
    await must(['rollout', 'status', 'deployment/web', '--timeout=180s']);
    expect(await must(['get', 'deploy', 'web', '-o', 'jsonpath={.spec.template.spec.containers[0].image}'])).toBe(
      'nginx:1.7.9',
    );
    expect(await must(['rollout', 'pause', 'deployment/web'])).toBe('deployment.apps/web paused\n');
    await must(['set', 'image', 'deployment/web', 'nginx=nginx:1.16.1']);
    expect(
      await must(['get', 'rs', '-o', 'jsonpath={.items[*].spec.template.spec.containers[0].image}']),
    ).not.toContain('1.16.1');
    expect(await must(['rollout', 'resume', 'deployment/web'])).toBe('deployment.apps/web resumed\n');
    await must(['rollout', 'status', 'deployment/web', '--timeout=180s']);
    expect(await must(['get', 'pods', '-o', 'jsonpath={.items[*].spec.containers[0].image}'])).toContain(
      'nginx:1.16.1',
    );
  });

  test.sequential('label, annotate and edit change the object', async () => {
    expect(await must(['label', 'deployment', 'web', 'tier=front'])).toBe('deployment.apps/web labeled\n');
    expect((await run(['label', 'deployment', 'web', 'tier=back'])).stderr).toContain(
      "'tier' already has a value (front)",
    );
    expect(await must(['annotate', 'deployment', 'web', 'note=hello'])).toMatch(/^deployment\.apps\/web annotated?\n$/);
    const editor = join(cluster.home, `editor-${version.minor}.sh`);
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/note: hello/note: edited/" "$1"\n', { mode: 0o755 });
    const edited = await cluster.kubectl(['-n', namespace, 'edit', 'deployment', 'web'], {
      version,
      env: { KUBE_EDITOR: editor },
    });
    expect(edited).toMatchObject({ code: 0, stdout: 'deployment.apps/web edited\n' });
    expect(await must(['get', 'deploy', 'web', '-o', 'jsonpath={.metadata.annotations.note}'])).toBe('edited');
  });

  test.sequential('explain, api-resources, api-versions, get --raw and get events', async () => {
    expect(await must(['explain', 'deployment.spec.strategy'])).toContain('rollingUpdate');
    const resources = await must(['api-resources']);
    for (const name of ['pods', 'deployments', 'leases', 'certificatesigningrequests'])
      expect(resources).toContain(name);
    expect((await must(['api-versions'])).trim().split('\n')).toEqual(expect.arrayContaining(['apps/v1', 'v1']));
    expect(await must(['get', '--raw', '/readyz'])).toBe('ok');
    expect(head(await must(['get', 'events']))).toEqual(['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE']);
  });

  test.sequential('auth whoami names the administrator', async () => {
    const who = await run(['auth', 'whoami']);
    if (version.minor < 28) {
      // It asks authentication.k8s.io/v1alpha1 alone, which Kubernetes 1.36 serves no longer.
      expect(who.code).toBe(1);
      expect(who.stderr).toContain('not enabled');
      return;
    }
    expect(who.stdout).toContain('kubernetes-admin');
    expect(who.stdout).toContain('system:masters');
  });

  test.sequential('delete removes the Deployment and all that is its', async () => {
    expect(await must(['delete', '-f', manifest])).toBe(
      'deployment.apps "web" deleted' + deletedFrom(version.minor, namespace),
    );
    await eventually('no pod is left', 180_000, async () => (await cluster.pods(namespace)).length === 0);
    await expect(cluster.get(DEPLOYMENTS, namespace, 'web')).rejects.toThrow('not found');
  });
});

/** kubectl 1.33 and newer say the namespace, too. */
function deletedFrom(minor: number, namespace: string): string {
  return minor >= 34 ? ` from ${namespace} namespace\n` : '\n';
}
