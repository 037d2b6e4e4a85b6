/**
 * The controller-manager: Kubernetes' control loops, which make the state of objects match what their specs ask for.
 *
 * - `controllers/`: a folder for each; `plan.ts` decides without a side effect, `controller.ts` and `*.shell.ts` read and write
 * - `registry.ts`: the list of all of them, and what they are built from
 * - `metrics.ts`, `meters.ts`: what they report
 * - `run-controller-manager.ts`: the election, the caches, the certificates
 * - `testing/`: a harness for one controller, and the simulation of a cluster for all of them
 *
 * Two run; one leads, the other keeps its caches warm. Each write carries the leader's term, and etcd refuses that of a former leader.
 */
import { runMain } from '@gantry/service';
import { readControllerManagerConfig } from './config.ts';
import { runControllerManager } from './run-controller-manager.ts';

await runMain(() => runControllerManager(readControllerManagerConfig(process.env)));
