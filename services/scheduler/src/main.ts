/**
 * The scheduler: gives each pod without a node the best one that fits, as Kubernetes' default scheduler does.
 *
 * - `framework/`: what a plugin is, and the snapshot of nodes that it sees; `plugins/`: filters and scores, one file each
 * - `plan.ts`: the decision on pods together, pure; `explain.ts`: why no node fits
 * - `queue.ts`, `cluster-view.ts`: pods that wait, and what lets them try again
 * - `scheduler.ts`: the loop; `writes.ts`, `volume-work.ts`: bindings, and what their volumes need before
 * - `scheduling-leader.ts`, `run-scheduler.ts`: what a leader starts; the process
 *
 * Two run; one leads. Agents run the pods that it binds.
 */
import { runMain } from '@gantry/service';
import { readSchedulerConfig } from './config.ts';
import { runScheduler } from './run-scheduler.ts';

await runMain(() => runScheduler(readSchedulerConfig()));
