/** `npm run up`: brings up the cluster and its sample from any state. Idempotent. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pause, systemClock } from '@gantry/base';
import { refuseDuringCampaign } from '../chaos/campaign-lock.ts';
import { readJournal } from '../chaos/journal.ts';
import { removeWorkloads, undoLeftovers } from '../chaos/leftovers.ts';
import { kubeconfigOf, openApi, printTable } from '../cluster/api.ts';
import { countsOf, openProject } from '../cluster/compose.ts';
import { failingMembers, restartingMember } from '../cluster/etcd-members.ts';
import { loadConfiguration, runningBalancers } from '../cluster/load-balancers.ts';
import { openCluster } from '../cluster/open-cluster.ts';
import { lookAtApi, lookAtDeployment, lookAtNodes, wantedNodes } from '../cluster/readiness.ts';
import { watchRestarts } from '../cluster/restarting-containers.ts';
import { applySample } from '../cluster/sample.ts';
import { findServiceImages, removeReplacedImages } from '../cluster/service-image.ts';
import { waitUntil } from '../cluster/wait-until.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { takeProcessLock } from '../machine/process-lock.ts';
import { createProgress, type StepTime } from '../machine/progress.ts';
import { createShell, mustRun } from '../machine/shell.ts';
import { rollingUpdate } from '../rolling-update/rolling-update.ts';
import { ensureSettings, storeSettings } from '../settings/ensure-settings.ts';
import type { Settings } from '../settings/choose-settings.ts';
import { readGivenSettings } from '../settings/given-settings.ts';
import { serviceRanges } from '../settings/in-use.ts';
import { overlaps } from '../settings/ranges.ts';
import { runCommand } from './run-command.ts';

const clock = systemClock;
const POLL_MS = 100;
/** For the API, for the nodes, and for the sample. */
const LIMIT_MS = 600_000;
const DEFAULT_AGENTS = 2;

await runCommand(async () => {
  const config = readCommandConfig(inheritedEnvironment());
  const given = readGivenSettings(inheritedEnvironment());
  // Compose would prefer it to the settings, also where it is empty.
  const { GANTRY_IMAGE: givenImage, ...environment } = inheritedEnvironment();
  const shell = createShell(config.root, environment);
  const times: StepTime[] = [];
  const startedAt = clock.monotonicMs();
  const progress = createProgress(clock, (text) => process.stdout.write(text), times);
  const script = (name: string) => join(config.root, 'deploy/bin', name);
  mkdirSync(config.home, { recursive: true });

  const engineRoot = await progress.step('Docker Engine', async (note) => {
    await mustRun(shell, script('ensure-engine'), [], { onLine: note });
    note(`version ${(await mustRun(shell, 'docker', ['version', '-f', '{{.Server.Version}}'])).trim()}`);
    return (await mustRun(shell, 'docker', ['info', '-f', '{{.DockerRootDir}}'])).trim();
  });
  let turn: Disposable | undefined;
  const settings = await progress.step('settings', async (note) => {
    turn = await takeTurn(environment['GANTRY_CACHE'] ?? join(homedir(), '.cache/gantry'), note);
    const chosen = await ensureSettings(config, shell, given);
    const { clusterId, port, podCidr, serviceCidr } = chosen;
    const isShared = (await serviceRanges(shell, clusterId)).some((range) => overlaps(range, serviceCidr));
    const warning = isShared ? ', as another cluster of this machine (docs/operating.md says how to change that)' : '';
    note(`cluster ${clusterId}, port ${port}, pods in ${podCidr}, Services in ${serviceCidr}${warning}`);
    return chosen;
  });
  await progress.step('images', async (note) => {
    note('looking');
    await mustRun(shell, script('ensure-images'), [], { onLine: note });
    note('all there');
  });
  const images = await progress.step('service image', (note) => findServiceImages(config, shell, note, givenImage));
  // Refuses overlays that do not exist, before they are saved.
  const project = openProject(config, settings.clusterId, shell);
  refuseDuringCampaign(config);
  storeSettings(config, settings, images, engineRoot);

  const isChaotic = readJournal(config) !== undefined;
  if (isChaotic) {
    const undo = async () => void (await undoLeftovers(await openCluster(), 'containers'));
    await progress.step('faults of `npm run chaos`', undo);
  }
  const before = await project.containers();
  const balancers = await runningBalancers(shell, settings.clusterId);
  const counts = countsOf(before);
  if (existsSync(kubeconfigOf(config)) && before.some(({ state }) => state === 'running')) {
    await progress.step('rolling update', async (note) => {
      using api = openApi(config);
      await rollingUpdate({ ...settings, project, shell, clock, api, note });
    });
  }
  await progress.step('containers', async (note) => {
    await project.up(counts, (line) => note(line.trim()));
    const after = await project.containers();
    const running = await runningBalancers(shell, settings.clusterId);
    const kept = balancers.filter((id) => running.includes(id));
    if (await loadConfiguration(config, shell, kept)) note('the load balancer reads its configuration');
    await removeReplacedImages(shell, before, after);
    note(`${after.filter((container) => container.state === 'running').length} running`);
  });
  turn?.[Symbol.dispose]();

  using api = openApi(config);
  const whyInVain = watchRestarts(project);
  const waitFor = (what: string) => ({ clock, what, timeoutMs: LIMIT_MS, everyMs: POLL_MS, whyInVain });
  await progress.step('API', async (note) => {
    await waitUntil(waitFor('the API'), (signal) => lookAtApi(api, signal), note);
    note('ready');
  });
  if (isChaotic) await undoLeftovers(await openCluster(), 'commands');
  await removeWorkloads(config, api);
  const agents = counts.get('agent') ?? (config.overlays.includes('light') ? 1 : DEFAULT_AGENTS);
  const wanted = wantedNodes(shell, settings, agents);
  await progress.step('nodes', async (note) => {
    note(`${await waitUntil(waitFor('the nodes'), (signal) => lookAtNodes(api, wanted, signal), note)} Ready`);
  });
  const signal = new AbortController().signal;
  await progress.step('sample nginx-deployment', async (note) => {
    const { namespace, name, outcome } = await applySample(config, api, signal);
    note(outcome);
    const look = (until: AbortSignal) => lookAtDeployment(api, namespace, name, until);
    note(`${outcome}, ${await waitUntil(waitFor(name), look, note)}`);
  });

  for (const member of await failingMembers(shell, clock, await project.containers())) {
    progress.line(`  ! ${restartingMember(member)}`);
  }
  const totalMs = clock.monotonicMs() - startedAt;
  writeFileSync(join(config.home, 'up-times.json'), `${JSON.stringify({ totalMs, steps: times }, null, 2)}\n`);
  const shown = ['/api/v1/nodes', '/api/v1/namespaces/default/pods'];
  const tables = await Promise.all(shown.map((path) => printTable(api, path, signal)));
  progress.line(`\nready in ${(totalMs / 1000).toFixed(1)} s\n\n${tables.join('\n\n')}\n`);
  progress.line(nextSteps(kubeconfigOf(config), settings));
  return 0;
});

/** From the choice of ports and address ranges until they are in use, one `up` of a user runs at a time: two would choose the same. */
async function takeTurn(cache: string, note: (text: string) => void): Promise<Disposable> {
  for (;;) {
    const turn = takeProcessLock(join(cache, 'up.db'));
    if (turn !== undefined) return turn;
    note('another `up` on this machine starts its containers');
    await pause(clock, POLL_MS, new AbortController().signal);
  }
}

function nextSteps(kubeconfig: string, { ingressHttpPort, ingressHttpsPort, consolePort }: Settings): string {
  return `console: http://127.0.0.1:${consolePort}   # npm run console opens it and signs in

next:
  export KUBECONFIG=${kubeconfig}
  kubectl scale deployment nginx-deployment --replicas=5 && kubectl get pods -o wide --watch
  docker compose up -d --no-recreate --scale agent=5 && kubectl get nodes --watch
  kubectl create ingress web --rule='web.localhost/*=SERVICE:PORT' && curl http://web.localhost:${ingressHttpPort}   # HTTPS: ${ingressHttpsPort}
  docker compose exec apiserver sh -c 'tail -f /var/log/gantry/audit-*.log'   # who writes what`;
}
