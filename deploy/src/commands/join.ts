/** `npm run join -- --server ADDRESS --token TOKEN --cluster FACTS`: makes this machine a host of a cluster. Idempotent. */
import { createSocket } from 'node:dgram';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@gantry/base';
import { JOIN_FILE, openProject, REGISTER_FILE, settingsFileOf } from '../cluster/compose.ts';
import { ensureServiceImages } from '../cluster/service-image.ts';
import { type CommandConfig, inheritedEnvironment, readCommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { createProgress } from '../machine/progress.ts';
import { createShell, mustRun, type Shell } from '../machine/shell.ts';
import { serviceRanges } from '../settings/in-use.ts';
import {
  type ClusterFacts,
  formatJoinSettings,
  joinOptions,
  type JoinSettings,
  valueIn,
} from '../settings/join-settings.ts';
import { overlaps } from '../settings/ranges.ts';
import { runCommand } from './run-command.ts';

const text = { type: 'string' } as const;

await runCommand(async () => {
  const { values } = parseArgs({ options: { server: text, token: text, cluster: text, address: text, name: text } });
  const options = joinOptions(values);
  const environment = inheritedEnvironment();
  const config: CommandConfig = joinConfig(readCommandConfig(environment));
  const shell = createShell(config.root, environment);
  const progress = createProgress(systemClock, (line) => process.stdout.write(line));
  const script = (name: string) => join(config.root, 'deploy/bin', name);
  const file = settingsFileOf(config);
  const stored = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const { clusterId } = options.facts;
  const other = valueIn(stored, 'GANTRY_CLUSTER_ID');
  if (other !== '' && other !== clusterId)
    throw new CommandError(`this machine is a host of the cluster ${other}`, 'leave that first: npm run leave');
  const engineRoot = await progress.step('Docker Engine', async (note) => {
    await mustRun(shell, script('ensure-engine'), [], { onLine: note });
    return (await mustRun(shell, 'docker', ['info', '-f', '{{.DockerRootDir}}'])).trim();
  });
  const own = [
    'ps',
    '-q',
    '--filter',
    `label=com.docker.compose.project=${clusterId}`,
    '--filter',
    'label=com.docker.compose.service=apiserver',
  ];
  if ((await mustRun(shell, 'docker', own)).trim() !== '')
    throw new CommandError(
      'the API of this cluster runs on this engine: it is the first host',
      'join from another machine',
    );
  await progress.step('images', (note) =>
    mustRun(shell, script('ensure-images'), ['debian:trixie-slim', 'registry.k8s.io/pause:3.10'], {
      onLine: note,
    }).then(() => undefined),
  );
  const images = await progress.step('service image', (note) => ensureServiceImages(config, shell, note));
  const address = options.address === '' ? await ownAddress(options.server) : options.address;
  const settings: JoinSettings = {
    options,
    address,
    home: config.home,
    image: images.services,
    engineRoot,
    engineSocket: (environment['DOCKER_HOST'] ?? '').replace(/^unix:\/\//, '') || '/var/run/docker.sock',
    podCidr: valueIn(stored, 'GANTRY_POD_CIDR'),
  };
  writeBootstrap(config.home, options);
  writeFileSync(file, formatJoinSettings(settings, stored));
  const project = openProject(config, clusterId, shell, JOIN_FILE);
  if (settings.podCidr === '') {
    await refuseSharedServices(shell, options.facts);
    await progress.step('range of pods', async (note) => {
      const { node, podCidr } = JSON.parse(
        (await openProject(config, clusterId, shell, REGISTER_FILE).register()).trim().split('\n').at(-1) ?? '',
      ) as Registered;
      writeFileSync(file, formatJoinSettings({ ...settings, podCidr }, stored));
      note(`${podCidr} for ${node}`);
    });
  }
  await progress.step('containers', async (note) => {
    await project.up(new Map(), (line) => note(line.trim()));
    note(`the host is ${address} for the others`);
  });
  return 0;
});

/** Programs of this machine would reach the Services of only one of two clusters. */
async function refuseSharedServices(shell: Shell, { clusterId, serviceCidr }: ClusterFacts): Promise<void> {
  const shared = (await serviceRanges(shell, clusterId)).find((range) => overlaps(range, serviceCidr));
  if (shared === undefined) return;
  throw new CommandError(
    `the cluster has its Services in ${serviceCidr}, and another cluster of this machine in ${shared}`,
    'join from another machine, or end the other cluster: npm run down in its checkout',
  );
}

interface Registered {
  readonly node: string;
  readonly podCidr: string;
}

/** Beside a cluster of the checkout's own. */
function joinConfig(config: CommandConfig): CommandConfig {
  const home = join(config.home, 'join');
  mkdirSync(home, { recursive: true });
  return { ...config, home, overlays: [] };
}

/** The agent reads the token again for each request; it is of no use later. */
function writeBootstrap(home: string, { token, facts }: ReturnType<typeof joinOptions>): void {
  const folder = join(home, 'bootstrap');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'token'), `${token}\n`, { mode: 0o600 });
  chmodSync(join(folder, 'token'), 0o600);
  writeFileSync(join(folder, 'ca.crt'), facts.authority);
}

/** The address from which this machine reaches another one, by the kernel's routes; nothing is sent. */
function ownAddress(server: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.once('error', reject);
    socket.connect(9, server, () => {
      const { address } = socket.address();
      socket.close();
      resolve(address);
    });
  });
}
