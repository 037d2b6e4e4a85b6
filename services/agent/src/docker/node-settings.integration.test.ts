/** Settings that an administrator adds to a node's engine defaults: low-level runtimes and seccomp profiles. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RUNTIME_CLASSES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { BUSYBOX, PAUSE, runsAfter, scriptPod, startEngineNode } from './testing/engine-node.ts';
import { OwnEngine } from './testing/own-engine.ts';

const FOREVER = 'trap "exit 0" TERM; while true; do sleep 0.1; done';

it('a pod runs in the low-level runtime of its RuntimeClass, its sandbox too, and others in the default one', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128, runtimes: ['other'] });
  await engine.load(BUSYBOX, PAUSE);
  await using node = await startEngineNode(engine);
  const meta = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass' } as const;
  await node.client.put(RUNTIME_CLASSES, { ...meta, metadata: { name: 'strong' }, handler: 'other' });
  await node.put(scriptPod('chosen', FOREVER, { runtimeClassName: 'strong' }));
  await node.put(scriptPod('plain', FOREVER));
  const runtimesOf = async (name: string) => {
    await node.until(name, runsAfter(0));
    const ids = await engine.docker('ps', '-q', '--filter', `label=io.kubernetes.pod.name=${name}`);
    return await engine.docker('inspect', '-f', '{{.HostConfig.Runtime}}', ...ids.split('\n'));
  };
  expect(await runtimesOf('chosen')).toBe('other\nother');
  expect(await runtimesOf('plain')).toBe('runc\nrunc');
});

it('a seccomp profile of the node holds for the containers that name it, or whose pod does', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128 });
  await engine.load(BUSYBOX, PAUSE);
  await using node = await startEngineNode(engine);
  const denied = { names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' };
  const profile = { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [denied] };
  const file = join(node.path, 'seccomp', 'team', 'no-folders.json');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(profile));
  const seccompProfile = { type: 'Localhost', localhostProfile: 'team/no-folders.json' };
  const named = { securityContext: { seccompProfile } };
  const own = { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } };
  const once = { restartPolicy: 'Never' };
  const exitCodeOf = async (name: string) => {
    const ended = await node.until(name, ({ status }) => ['Succeeded', 'Failed'].includes(status?.phase ?? ''));
    return ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
  };
  const script = 'mkdir /folder';
  await node.put(scriptPod('by-container', script, once, named));
  await node.put(scriptPod('by-pod', script, { ...once, ...named }));
  await node.put(scriptPod('own-choice', script, { ...once, ...named }, own));
  await node.put(scriptPod('none', script, once));
  const codes = await Promise.all(['by-container', 'by-pod', 'own-choice', 'none'].map(exitCodeOf));
  expect(codes).toEqual([1, 1, 0, 0]);
});
