import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { containerSpec } from '../spec/container-spec.ts';
import { sandboxSpec } from '../spec/sandbox-spec.ts';
import { container, ENGINE, pod } from '../testing/pods.ts';
import { ProbeRunner } from './probe-runner.ts';

const OWNER = { cluster: 'c', node: 'n' };
const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
const { signal } = new AbortController();

it('in an ending pod only readiness is probed on', async () => {
  const clock = new ManualClock();
  let ran: string[] = [];
  const exec = (_spec: unknown, [kind = '']: readonly string[]) => {
    ran.push(kind);
    return { exitCode: 0, output: '' };
  };
  const runtime = new HollowRuntime({ clock, images: { nginx: IMAGE }, behaviour: { exec } });
  const common = { owner: OWNER, pod: pod(), attempt: 0, image: IMAGE, privilege: 'full' as const };
  const sandboxId = await runtime.sandboxes.createSandbox(
    sandboxSpec({ ...common, network: { kind: 'host' } }),
    signal,
  );
  const probe = (kind: string) => ({ exec: { command: [kind] }, periodSeconds: 5 });
  const probed = container('main', { livenessProbe: probe('liveness'), readinessProbe: probe('readiness') });
  const spec = containerSpec({
    ...common,
    container: probed,
    sandboxId,
    restartDelayMs: 0,
    environment: new Map(),
    mounts: [],
    engine: ENGINE,
    capacityBytes: 2 ** 30,
  });
  const containerId = await runtime.containers.createContainer(spec, signal);
  await runtime.containers.startContainer(containerId, signal);

  const runner = new ProbeRunner({
    containers: runtime.containers,
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onFailure: () => undefined,
    onWarning: () => undefined,
  });
  const target = {
    container: probed,
    containerId,
    address: '10.0.0.9',
    network: 'pod' as const,
    startedAt: clock.now(),
  };
  runner.sync([target], 'running', signal);
  await clock.advance(6_000);
  expect(ran.sort()).toEqual(['liveness', 'liveness', 'readiness', 'readiness']);

  ran = [];
  runner.sync([target], 'ending', signal);
  await clock.advance(10_000);
  expect(ran).toEqual(['readiness', 'readiness']);

  ran = [];
  runner.sync([], 'ending', signal);
  await clock.advance(10_000);
  expect(ran).toEqual([]);
});
