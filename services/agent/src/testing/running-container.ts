import { HollowRuntime, type HollowOptions } from '../hollow/hollow-runtime.ts';
import type { Owner } from '../runtime/labels.ts';
import { containerSpec } from '../spec/container-spec.ts';
import { sandboxSpec } from '../spec/sandbox-spec.ts';
import { container, ENGINE, pod } from './pods.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };

export interface RunningContainer {
  readonly runtime: HollowRuntime;
  readonly sandboxId: string;
  readonly containerId: string;
}

/** Returns a hollow runtime on which one container of the owner runs. By default it is `main` of the pod in `pods.ts`. */
export async function runningContainer(
  owner: Owner,
  options: Omit<HollowOptions, 'images'>,
  own = container(),
): Promise<RunningContainer> {
  const { signal } = new AbortController();
  const runtime = new HollowRuntime({ ...options, images: { nginx: IMAGE } });
  const common = { owner, pod: pod(), attempt: 0, image: IMAGE, privilege: 'full' as const, engine: ENGINE };
  const sandboxId = await runtime.sandboxes.createSandbox(
    sandboxSpec({ ...common, network: { kind: 'host' } }),
    signal,
  );
  const spec = containerSpec({
    ...common,
    container: own,
    sandboxId,
    group: 'engine',
    restartDelayMs: 0,
    environment: new Map(),
    mounts: [],
    devices: [],
    capacityBytes: 2 ** 30,
    processLimit: 1000,
  });
  const containerId = await runtime.containers.createContainer(spec, signal);
  await runtime.containers.startContainer(containerId, signal);
  return { runtime, sandboxId, containerId };
}
