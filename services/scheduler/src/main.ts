/**
 * The scheduler: gives each pod without a node the best one that fits, as Kubernetes' default scheduler does.
 *
 * - `framework/`: what a plugin is, and the snapshot of nodes that it sees; `plugins/`: filters and scores, one file each
 * - `plan.ts`: decides on several pods, pure; `explain.ts`: why no node fits
 * - `queue.ts`, `cluster-view.ts`: waiting pods, and the changes after which they are tried again
 * - `scheduler.ts`: the loop; `writes.ts`, `volume-work.ts`: the bindings, and the work on volumes that has to come first
 * - `scheduling-leader.ts`: what a leader starts; `run-scheduler.ts`: the process
 *
 * Two schedulers run, and one of them leads. Agents run the pods that the leader binds.
 */
import { runMain } from '@gantry/service';
import { readSchedulerConfig } from './config.ts';
import { runScheduler } from './run-scheduler.ts';

await runMain(() => runScheduler(readSchedulerConfig()));
