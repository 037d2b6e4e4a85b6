import { type ChildProcess } from 'node:child_process';
import { spawnControllers, untilAtRest } from '../controllers.ts';
import { openCluster } from '../cluster.ts';
import { type Part, partOf, servicesOf } from '../parts.ts';
import { endProcess } from '../processes.ts';
import { spawnScheduler } from '../scheduler/targets.ts';
import { startDevServer } from '../speed/dev-server.ts';

/** A control plane whose processes are measured. */
export interface MeasuredSystem extends AsyncDisposable {
  readonly what: string;
  /** A development server, which does not compact its etcd. */
  readonly isDevelopment: boolean;
  /** The administrator's kubeconfig file. */
  readonly kubeconfig: string;
  readonly services: readonly Part[];
}

export interface DevSystemOptions {
  readonly etcdMembers: number;
  /** Folder for CPU profiles of the processes. */
  readonly profileDir: string | undefined;
}

/** One API server, all controllers and a scheduler, in processes of their own. */
export async function startDevSystem({ etcdMembers, profileDir }: DevSystemOptions): Promise<MeasuredSystem> {
  await using started = new AsyncDisposableStack();
  const dev = started.use(await startDevServer({ profileDir, etcdMembers }));
  const { kubeconfig, server } = dev;
  const run = (name: string, child: ChildProcess): Part => {
    started.defer(() => endProcess(child));
    return partOf(name, [child.pid ?? 0]);
  };
  const controllers = spawnControllers({ kubeconfig, grpcPort: server.grpcPort, profileDir });
  controllers.stdout.resume();
  const clients = [run('controllers', controllers), run('scheduler', spawnScheduler(dev, profileDir))];
  await untilAtRest(clients.flatMap(({ pids }) => pids));
  const running = started.move();
  return {
    what: server.what,
    isDevelopment: true,
    kubeconfig,
    // The memory store has no process of its own.
    services: [server.parts.apiserver, ...(server.parts.etcd.pids.length === 0 ? [] : [server.parts.etcd]), ...clients],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The services of the running cluster of a kubeconfig's folder. */
export function clusterSystem(kubeconfig: string): MeasuredSystem {
  const { project, api } = openCluster(kubeconfig);
  api[Symbol.dispose]();
  return {
    what: `the cluster ${project}`,
    isDevelopment: false,
    kubeconfig,
    services: servicesOf(project),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
