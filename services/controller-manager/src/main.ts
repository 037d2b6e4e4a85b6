/**
 * The controller-manager: Kubernetes' control loops, which bring the state of objects in line with their specs.
 *
 * - `controllers/`: a folder for each controller; `plan.ts` decides without side effects, `controller.ts` and `*.shell.ts` read and write
 * - `registry.ts`: the list of all controllers, and the parts that they are built from
 * - `metrics.ts`, `meters.ts`: the metrics of the controllers
 * - `run-controller-manager.ts`: the election, the caches, the certificates
 * - `testing/`: a harness for one controller, and the simulation of a cluster for all of them
 *
 * Two controller-managers run. One leads, and the other only keeps its caches up to date. Each write carries the leader's term, and etcd
 * refuses writes of a former leader.
 */
import { runMain } from '@gantry/service';
import { readControllerManagerConfig } from './config.ts';
import { runControllerManager } from './run-controller-manager.ts';

await runMain(() => runControllerManager(readControllerManagerConfig(process.env)));
