import { join } from 'node:path';
import { append, systemClock } from '@gantry/base';
import { type Verdict, writeReport } from '@gantry/chaos-checker';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import { shownPath } from '../config.ts';
import { type CampaignTools, type CheckedResult, runCampaign } from './campaign.ts';
import type { FaultKind } from './fault.ts';
import { CLOCK_FAULTS, findFakeTime } from './faults/clock.ts';
import { ENGINE_FAULTS, NO_CONSENT } from './faults/engine-restart.ts';
import { FAULT_KINDS } from './faults/index.ts';
import { NETEM_FAULTS } from './faults/network.ts';
import { NO_LOSS, RESTORE_FAULTS } from './faults/snapshot-restore.ts';
import { chaosFolder, Journal } from './journal.ts';
import type { CampaignOptions, Choices } from './options.ts';
import { prepareCluster } from './prepare-cluster.ts';
import { type CampaignView, violationsOf } from './show-lines.ts';
import { runnable, WORKLOADS } from './workloads/index.ts';

/** What a campaign runs on, who shows it, and where its objects and artefacts are. */
export interface CheckedRun {
  readonly opened: OpenCluster;
  /** The image of the services. */
  readonly image: string;
  readonly view: CampaignView;
  /** Of the workloads. */
  readonly namespace: string;
  /** Of the artefacts. */
  readonly folder: string;
}

/** Names for a run that begins now. */
export function nameRun({ config }: OpenCluster, { seed }: CampaignOptions): Pick<CheckedRun, 'namespace' | 'folder'> {
  const runId = new Date(systemClock.now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return { namespace: `chaos-${runId}`, folder: join(chaosFolder(config), `${runId}-${seed}`) };
}

/** Runs a campaign at the cluster, and the checker on what it has left. Take the lock first. */
export async function runChecked(
  { opened, image, view, namespace, folder }: CheckedRun,
  options: CampaignOptions,
  stop: AbortSignal,
): Promise<Checked> {
  const cluster = await prepareCluster(opened, image, namespace, view.onPhase);
  const journal = new Journal(opened.config, process.pid);
  return await runAndCheck({ cluster, journal, view, namespace, folder }, options, stop);
}

/** A system that is ready for faults. */
export type ReadyRun = Pick<CampaignTools, 'cluster' | 'journal'> & Omit<CheckedRun, 'opened' | 'image'>;

/** What a campaign came to, and what the checker says of it. */
export interface Checked {
  readonly result: CheckedResult;
  readonly verdict: Verdict;
}

export async function runAndCheck(
  { cluster, journal, view, namespace, folder }: ReadyRun,
  options: CampaignOptions,
  stop: AbortSignal,
): Promise<Checked> {
  view.onPhase(`seed ${options.seed}`);
  if (options.text['workload'] === 'all')
    for (const [name, why] of runnable(WORKLOADS).impossible) view.onPhase(`without the workload ${name}: ${why}`);
  const { opened } = cluster;
  const tools = { cluster, clock: systemClock, journal, namespace, folder, events: view };
  const result = await runCampaign(tools, options, stop);
  view.onPhase('the checker reads the run');
  const report = join(folder, 'report.html');
  const verdict = await writeReport(folder, report);
  view.onPhase(`the report is ${shownPath(opened.config, report)}`);
  const violations = [...result.violations, ...violationsOf(verdict)];
  return { result: { ...result, outcome: verdict.outcome, violations }, verdict };
}

/** All kinds of faults and all workloads, without those that this machine cannot make and run. */
export async function readChoices({ shell }: OpenCluster, image: string): Promise<Choices> {
  const alone = ['run', '--rm', '--network', 'none', '--cap-drop', 'ALL', '--cap-add', 'NET_ADMIN', '--user', '0'];
  const netem = ['tc', 'qdisc', 'add', 'dev', 'lo', 'root', 'netem', 'delay', '1ms'];
  const { code, stderr } = await shell.run('docker', [...alone, image, ...netem]);
  const kinds = [...FAULT_KINDS];
  const { workloads, impossible: without } = runnable(WORKLOADS);
  const impossible = new Map(without);
  const offer = (optional: readonly FaultKind[], missing: string | undefined) => {
    if (missing === undefined) append(kinds, optional);
    else for (const { kind } of optional) impossible.set(kind, missing);
  };
  offer(NETEM_FAULTS, code === 0 ? undefined : `the kernel has no sch_netem (${stderr.trim().split('\n')[0]})`);
  const faketime = 'libfaketime is missing on this machine: sh deploy/bin/ensure-faketime';
  offer(ENGINE_FAULTS, NO_CONSENT);
  offer(RESTORE_FAULTS, NO_LOSS);
  offer(CLOCK_FAULTS, findFakeTime() === undefined ? faketime : undefined);
  return { workloads, kinds, impossible };
}
