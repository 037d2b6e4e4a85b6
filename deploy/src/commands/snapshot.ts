/** `npm run snapshot -- save FILE | check FILE | restore FILE`: the cluster's state and keys in one file. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, formatTime, systemClock } from '@gantry/base';
import { openApi } from '../cluster/api.ts';
import { countsOf, openProject, type Project, settingsFileOf } from '../cluster/compose.ts';
import { createEtcdTools, endFormerLeaders, type EtcdTools, readEtcdLayout } from '../cluster/etcd-tools.ts';
import { lookAtApi } from '../cluster/readiness.ts';
import { parseSnapshotFacts, sealingKeyIds, type SnapshotFacts, unreadableSecrets } from '../cluster/snapshot-file.ts';
import { waitUntil } from '../cluster/wait-until.ts';
import { type CommandConfig, inheritedEnvironment, invokedIn, readCommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { createProgress, type Progress } from '../machine/progress.ts';
import { createShell, mustRun, type Shell } from '../machine/shell.ts';
import { readSettings } from '../settings/ensure-settings.ts';
import { runCommand } from './run-command.ts';

const clock = systemClock;
const LIMIT_MS = 600_000;
const POLL_MS = 500;
/** More than a cluster writes between a snapshot and its restore, so that no client has seen a newer revision. */
const BUMP = '1000000000';
const USAGE =
  'npm run snapshot -- save FILE [--without-keys] [--from MEMBER] | check FILE | restore FILE [--keys] [--unreadable-secrets]';

/** The cluster of this checkout, and what works on it. */
interface Context {
  readonly config: CommandConfig;
  readonly clusterId: string;
  readonly project: Project;
  readonly shell: Shell;
  readonly etcd: EtcdTools;
  /** The image of the services, which has a shell and tar. */
  readonly image: string;
  readonly progress: Progress;
}

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'without-keys': { type: 'boolean', default: false },
      from: { type: 'string' },
      keys: { type: 'boolean', default: false },
      'unreadable-secrets': { type: 'boolean', default: false },
    },
  });
  const [verb = '', name = '', ...rest] = positionals;
  if (name === '' || rest.length > 0) throw new CommandError(`a command and one file are needed`, USAGE);
  const file = resolve(invokedIn(inheritedEnvironment()), name);
  switch (verb) {
    case 'save':
      await save(await openContext(), file, values['without-keys'] ? 'left-out' : 'included', values.from);
      return 0;
    case 'check': {
      const context = await openContext();
      await withContents(context, file, async (facts) => describe(context, facts));
      return 0;
    }
    case 'restore': {
      const cluster = await ensureCluster(file);
      await restore(await openContext(), file, {
        keys: values.keys || cluster === 'new' ? 'file' : 'cluster',
        unreadable: values['unreadable-secrets'] ? 'accepted' : 'refused',
      });
      return 0;
    }
    default:
      throw new CommandError(`there is no command ${JSON.stringify(verb)}`, USAGE);
  }
});

/** On a machine that has lost the cluster, makes a new one with the settings of the file. */
async function ensureCluster(file: string): Promise<'kept' | 'new'> {
  const config = readCommandConfig(inheritedEnvironment());
  if (readSettings(config) !== undefined) return 'kept';
  if (!existsSync(file)) throw new CommandError(`there is no file ${file}`);
  const shell = createShell(config.root, inheritedEnvironment());
  const settings = await mustRun(shell, 'tar', ['-xOf', file, 'env']);
  const progress = createProgress(clock, (text) => process.stdout.write(text));
  await progress.step('a new cluster with the settings of the file', async (note) => {
    mkdirSync(config.home, { recursive: true });
    writeFileSync(settingsFileOf(config), settings);
    await mustRun(shell, join(config.root, 'deploy/bin/up'), [], { onLine: note });
    note('up');
  });
  return 'new';
}

async function openContext(): Promise<Context> {
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  const settings = readSettings(config);
  if (settings === undefined) throw new CommandError('no cluster was started here', 'start one: npm run up');
  const { clusterId } = settings;
  const project = openProject(config, clusterId, shell);
  const composed = await project.compose(['config', '--format', 'json']);
  const { services } = JSON.parse(composed) as {
    readonly services: Readonly<Record<string, { readonly image: string }>>;
  };
  return {
    config,
    clusterId,
    project,
    shell,
    etcd: createEtcdTools(shell, clusterId, readEtcdLayout(composed)),
    image: services['apiserver']?.image ?? '',
    progress: createProgress(clock, (text) => process.stdout.write(text)),
  };
}

/** Runs a shell command as root in a container of the service image, with these mounts and no network. */
function inContainer({ shell, image }: Context, mounts: readonly string[], command: string): Promise<string> {
  const volumes = mounts.flatMap((mount) => ['-v', mount]);
  const rights = ['--network', 'none', '--user', '0'];
  return mustRun(shell, 'docker', ['run', '--rm', ...rights, ...volumes, image, 'sh', '-ec', command]);
}

async function keyVolumes({ shell, clusterId }: Context): Promise<readonly string[]> {
  const text = await mustRun(shell, 'docker', ['volume', 'ls', '-q', '--filter', `name=^${clusterId}_pki-`]);
  return text.split('\n').filter((line) => line !== '');
}

async function presentSealingKeys(context: Context): Promise<readonly string[]> {
  const volume = `${context.clusterId}_pki-sealing`;
  if (!(await keyVolumes(context)).includes(volume)) return [];
  return sealingKeyIds(await inContainer(context, [`${volume}:/keys:ro`], 'cat /keys/keys.json 2>/dev/null || true'));
}

/** `from` names a stopped member whose data is saved; otherwise a running member is asked. */
async function save(context: Context, file: string, keys: SnapshotFacts['keys'], from?: string): Promise<void> {
  const { config, clusterId, etcd, progress } = context;
  const folder = join(config.home, 'snapshot');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(file), { recursive: true });
  try {
    const revision = await progress.step('state', async (note) => {
      if (from === undefined) {
        await fromAnyMember(context, (member) =>
          etcd.ctl([member], ['snapshot', 'save', '/snapshot/etcd.db'], [`${folder}:/snapshot`]),
        );
      } else await saveFrom(context, from, folder, note);
      const status = await etcd.util(
        ['snapshot', 'status', '/snapshot/etcd.db', '-w', 'json'],
        [`${folder}:/snapshot`],
      );
      const { revision, totalKey, totalSize } = JSON.parse(status) as Record<
        'revision' | 'totalKey' | 'totalSize',
        number
      >;
      note(`revision ${revision}, ${totalKey} keys, ${(totalSize / 2 ** 20).toFixed(1)} MiB`);
      return revision;
    });
    const facts: SnapshotFacts = {
      format: 1,
      clusterId,
      takenAt: formatTime(clock.now()),
      revision,
      keys,
      sealingKeys: await presentSealingKeys(context),
    };
    writeFileSync(join(folder, 'snapshot.json'), `${JSON.stringify(facts, null, 2)}\n`);
    writeFileSync(join(folder, 'env'), readFileSync(settingsFileOf(config)));
    await progress.step(keys === 'included' ? 'file, with keys' : 'file, without keys', async (note) => {
      const volumes = keys === 'included' ? await keyVolumes(context) : [];
      const mounts = volumes.map((volume) => `${volume}:/all/keys/${volume.slice(clusterId.length + 1)}:ro`);
      const name = quoted(basename(file));
      const owner = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
      // Renamed when it is complete: a file of this name is a whole snapshot.
      const command = `mkdir -p /all/keys; cd /all; umask 077; cp /in/* .; tar -cf /out/${name}.partial *
        chown ${owner} /out/${name}.partial; mv /out/${name}.partial /out/${name}`;
      await inContainer(context, [`${folder}:/in:ro`, `${dirname(file)}:/out`, ...mounts], command);
      note(file);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Saves what a stopped member has, for a cluster whose quorum is lost for good. A copy of its data serves as a cluster of one member, which
 * also applies what only its log has.
 */
async function saveFrom(context: Context, member: string, folder: string, note: (text: string) => void): Promise<void> {
  const { clusterId, etcd, project, shell } = context;
  const { members, environments, image } = etcd.layout;
  if (!members.includes(member)) {
    throw new CommandError(`there is no member ${member}`, `members: ${members.join(', ')}`);
  }
  const container = (await project.containers()).find(({ service }) => service === member);
  if (container?.state === 'running') {
    throw new CommandError(`${member} runs`, `stop all members: docker compose stop ${members.join(' ')}`);
  }
  const name = `${clusterId}-survivor`;
  const volume = `${clusterId}_survivor`;
  const clean = async () => {
    await mustRun(shell, 'docker', ['rm', '-f', name]);
    await mustRun(shell, 'docker', ['volume', 'rm', '-f', volume]);
  };
  await clean();
  try {
    await inContainer(context, [`${clusterId}_${member}:/from:ro`, `${volume}:/to`], 'cp -a /from/. /to/');
    const variables = Object.entries({ ...environments[member], ETCD_FORCE_NEW_CLUSTER: 'true' });
    await mustRun(shell, 'docker', [
      ...['run', '-d', '--name', name, '--user', '60812:60812'],
      ...['--network', `${clusterId}-control`, '--network-alias', member],
      ...['-v', `${volume}:/var/lib/etcd`, '-v', `${clusterId}_pki-${member}:/etc/etcd/tls:ro`],
      ...variables.flatMap(([key, value]) => ['-e', `${key}=${value}`]),
      image,
    ]);
    const look = async () => {
      try {
        await etcd.ctl([member], ['snapshot', 'save', '/snapshot/etcd.db'], [`${folder}:/snapshot`]);
        return { done: true, value: undefined } as const;
      } catch (error) {
        return { done: false, missing: errorMessage(error).split('\n').at(-1) ?? '' } as const;
      }
    };
    await waitUntil({ clock, what: `the copy of ${member}`, timeoutMs: LIMIT_MS, everyMs: POLL_MS }, look, note);
  } finally {
    await clean();
  }
  context.progress.line(`    writes that ${member} had not received are not in it`);
}

/** Tries one member after the other. */
async function fromAnyMember<T>({ etcd }: Context, ask: (member: string) => Promise<T>): Promise<T> {
  const failures: string[] = [];
  for (const member of etcd.layout.members) {
    try {
      return await ask(member);
    } catch (error) {
      failures.push(`${member}: ${errorMessage(error)}`);
    }
  }
  throw new CommandError(`no member of etcd responds: ${failures.join('; ')}`, 'look at: npm run status');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function volumeOf({ clusterId }: Context): string {
  return `${clusterId}_restore`;
}

/** Unpacks a file into a volume of its own, checks it, and passes on what it says of itself. */
async function withContents(
  context: Context,
  file: string,
  use: (facts: SnapshotFacts) => Promise<void>,
): Promise<void> {
  const { shell, etcd, progress } = context;
  if (!existsSync(file)) throw new CommandError(`there is no file ${file}`);
  const volume = volumeOf(context);
  const remove = () => mustRun(shell, 'docker', ['volume', 'rm', '-f', volume]);
  await remove();
  await mustRun(shell, 'docker', ['volume', 'create', volume]);
  try {
    const facts = await progress.step('check of the file', async (note) => {
      const mounts = [`${file}:/in.tar:ro`, `${volume}:/all`];
      const text = await inContainer(context, mounts, 'cd /all; tar -xf /in.tar; cat snapshot.json').catch((error) => {
        throw new CommandError(`${file} is no snapshot of a cluster: ${errorMessage(error)}`);
      });
      const found = parseSnapshotFacts(text, file);
      await prepareMembers(etcd, volume);
      note(`${found.clusterId} at ${found.takenAt}, revision ${found.revision}`);
      return found;
    });
    await use(facts);
  } finally {
    await remove();
  }
}

/** Makes the data of each member, which also verifies the checksum of the state. */
async function prepareMembers(etcd: EtcdTools, volume: string): Promise<void> {
  const { members, initialCluster } = etcd.layout;
  for (const member of members) {
    const cluster = [
      '--name',
      member,
      '--initial-cluster',
      initialCluster,
      '--initial-cluster-token',
      `restored-${volume}`,
    ];
    const urls = ['--initial-advertise-peer-urls', `https://${member}:2380`];
    // Clients with a newer version list again, instead of waiting for events that this history does not have.
    const history = ['--bump-revision', BUMP, '--mark-compacted'];
    const data = ['--data-dir', `/all/data/${member}`];
    const args = ['snapshot', 'restore', '/all/etcd.db', ...cluster, ...urls, ...history, ...data];
    await etcd.util(args, [`${volume}:/all`]);
  }
}

async function describe(context: Context, facts: SnapshotFacts): Promise<void> {
  const problem = unreadableSecrets(facts, await presentSealingKeys(context), 'cluster');
  context.progress.line(`keys: ${facts.keys}${problem === undefined ? '' : `\n${problem}`}`);
}

interface RestoreOptions {
  /** Whose keys hold afterwards. Keys that the cluster has lost come from the file. */
  readonly keys: 'file' | 'cluster';
  readonly unreadable: 'accepted' | 'refused';
}

async function restore(context: Context, file: string, { keys, unreadable }: RestoreOptions): Promise<void> {
  const { clusterId, config, etcd, project, progress } = context;
  const { members } = etcd.layout;
  await withContents(context, file, async (facts) => {
    if (facts.clusterId !== clusterId) {
      throw new CommandError(
        `${file} is a snapshot of the cluster ${facts.clusterId}, and this is ${clusterId}`,
        `restore it in its own checkout, or set GANTRY_CLUSTER_ID=${facts.clusterId} in ${settingsFileOf(config)} on a machine without that cluster`,
      );
    }
    const present = await presentSealingKeys(context);
    const isLost = present.length === 0;
    const problem = unreadableSecrets(facts, present, keys === 'file' || isLost ? 'file' : 'cluster');
    if (problem !== undefined && unreadable === 'refused') {
      const fix =
        facts.keys === 'included' ? 'take the keys of the file: --keys' : 'go on without them: --unreadable-secrets';
      throw new CommandError(problem, fix);
    }
    const counts = countsOf(await project.containers());
    // Who has a certificate of other authorities must not run on.
    const services = keys === 'file' ? [] : ['apiserver', ...members];
    await progress.step(keys === 'file' ? 'services stopped' : 'API servers and etcd stopped', async (note) => {
      await project.compose(['stop', ...services], (line) => note(line.trim()));
    });
    // Agents keep certificates of their own, which other authorities may have signed. The pods' containers stay.
    if (keys === 'file') await progress.step('agents removed', () => project.removeService('agent'));
    if (facts.keys === 'included') {
      await progress.step('keys', async (note) => note(`${await restoreKeys(context, keys)} volumes from the file`));
    }
    await progress.step('data of the members', async () => {
      const mounts = [
        `${volumeOf(context)}:/all:ro`,
        ...members.map((member) => `${clusterId}_${member}:/members/${member}`),
      ];
      const steps = members.map((member) => {
        const [from, to] = [`/all/data/${member}/member`, `/members/${member}`];
        return `rm -rf ${to}/member ${to}/new; cp -a ${from} ${to}/new; chown -R 60812:60812 ${to}/new; mv ${to}/new ${to}/member`;
      });
      await inContainer(context, mounts, steps.join('\n'));
    });
    await progress.step('etcd', async (note) => {
      await project.compose(['up', '-d', '--no-build', ...members], (line) => note(line.trim()));
      // Leaders of the other history cannot write: their epochs belong to an incarnation that is gone.
      const look = async () => {
        try {
          await endFormerLeaders(etcd);
          return { done: true, value: undefined } as const;
        } catch (error) {
          return { done: false, missing: errorMessage(error).split('\n').at(-1) ?? '' } as const;
        }
      };
      await waitUntil({ clock, what: 'etcd', timeoutMs: LIMIT_MS, everyMs: POLL_MS }, look, note);
      note('without leaders and incarnation of the former history');
    });
    await progress.step('services', (note) => project.up(counts, (line) => note(line.trim())));
    using api = openApi(config);
    await progress.step('API', async (note) => {
      const options = { clock, what: 'the API', timeoutMs: LIMIT_MS, everyMs: POLL_MS };
      await waitUntil(options, (signal) => lookAtApi(api, signal), note);
      note('ready');
    });
    progress.line(`the cluster is as it was at ${facts.takenAt}; look at: npm run status`);
  });
}

/** Fills volumes of keys from the file: all, or those that the cluster has lost. Returns their number. */
async function restoreKeys(context: Context, keys: RestoreOptions['keys']): Promise<number> {
  const { clusterId, shell } = context;
  const volume = volumeOf(context);
  const names = (await inContainer(context, [`${volume}:/all:ro`], 'ls /all/keys'))
    .split('\n')
    .filter((one) => one !== '');
  const existing = new Set(await keyVolumes(context));
  let count = 0;
  for (const name of names) {
    const target = `${clusterId}_${name}`;
    const labels = [`com.docker.compose.project=${clusterId}`, `com.docker.compose.volume=${name}`];
    if (!existing.has(target)) {
      await mustRun(shell, 'docker', ['volume', 'create', ...labels.flatMap((label) => ['--label', label]), target]);
    } else if (keys === 'cluster') continue;
    await inContainer(
      context,
      [`${volume}:/all:ro`, `${target}:/to`],
      `find /to -mindepth 1 -delete; cp -a /all/keys/${name}/. /to/`,
    );
    count += 1;
  }
  return count;
}
