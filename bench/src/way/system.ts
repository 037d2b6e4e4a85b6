import { type ChildProcess } from 'node:child_process';
import { spawnControllers, untilAtRest } from '../controllers.ts';
import { openCluster } from '../cluster.ts';
import { endProcess, serviceContainers } from '../processes.ts';
import { spawnScheduler } from '../scheduler/targets.ts';
import { startDevServer } from '../speed/dev-server.ts';

/** A control plane whose processes are measured. */
export interface MeasuredSystem extends AsyncDisposable {
  readonly what: string;
  /** A development server, which does not compact its etcd. */
  readonly isDevelopment: boolean;
  /** The administrator's kubeconfig file. */
  readonly kubeconfig: string;
  /** Its processes by service. */
  readonly pids: ReadonlyMap<string, readonly number[]>;
}

export interface DevSystemOptions {
  readonly etcdMembers: number;
  /** Folder for CPU profiles of the processes. */
  readonly profileDir: string | undefined;
}

/** One API server, all controllers and a scheduler, in processes of their own. */
export async function startDevSystem({ etcdMembers, profileDir }: DevSystemOptions): Promise<MeasuredSystem> {
  await using parts = new AsyncDisposableStack();
  const dev = parts.use(await startDevServer({ profileDir, etcdMembers }));
  const { kubeconfig, server } = dev;
  const run = (child: ChildProcess): readonly number[] => {
    parts.defer(() => endProcess(child));
    return [child.pid ?? 0];
  };
  const controllers = spawnControllers({ kubeconfig, grpcPort: server.grpcPort, profileDir });
  controllers.stdout.resume();
  const pids = new Map([
    ['apiserver', server.pids.apiserver],
    ['etcd', server.pids.etcd],
    ['controllers', run(controllers)],
    ['scheduler', run(spawnScheduler(dev, profileDir))],
  ]);
  await untilAtRest([...(pids.get('controllers') ?? []), ...(pids.get('scheduler') ?? [])]);
  const started = parts.move();
  return {
    what: server.what,
    isDevelopment: true,
    kubeconfig,
    pids,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** The services of the running cluster of a kubeconfig's folder. */
export function clusterSystem(kubeconfig: string): MeasuredSystem {
  const { project, api } = openCluster(kubeconfig);
  api[Symbol.dispose]();
  const pids = new Map<string, readonly number[]>();
  for (const container of serviceContainers(project)) {
    const service = container.service.replace(/-\d+$/, '');
    pids.set(service, [...(pids.get(service) ?? []), ...container.pids]);
  }
  return {
    what: `the cluster ${project}`,
    isDevelopment: false,
    kubeconfig,
    pids,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
