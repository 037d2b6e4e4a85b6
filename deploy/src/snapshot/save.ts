import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorMessage, formatTime, systemClock } from '@gantry/base';
import { type Project, settingsFileOf } from '../cluster/compose.ts';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import { untilSucceeds } from '../cluster/wait-until.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun } from '../machine/shell.ts';
import { ETCD_UID } from '../pki/roles.ts';
import { inContainer, keyVolumes, LIMIT_MS, POLL_MS, presentSealingKeys } from './key-volumes.ts';
import type { SnapshotFacts } from './snapshot-file.ts';

const clock = systemClock;

/** `from` names a stopped member whose data is saved; otherwise a running member is asked. */
export async function save(
  context: OpenCluster,
  file: string,
  keys: SnapshotFacts['keys'],
  from?: string,
): Promise<void> {
  const { config, clusterId, etcd, progress } = context;
  const folder = join(config.home, 'snapshot');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(file), { recursive: true });
  try {
    const revision = await progress.step('state', async (note) => {
      if (from === undefined) {
        await fromAnyMember(context.project, etcd.layout.members, (member) =>
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
async function saveFrom(
  context: OpenCluster,
  member: string,
  folder: string,
  note: (text: string) => void,
): Promise<void> {
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
    const copy = 'if test -s /from/member/snap/db; then cp -a /from/. /to/; else echo none; fi';
    if ((await inContainer(context, [`${clusterId}_${member}:/from:ro`, `${volume}:/to`], copy)) !== '') {
      const others = members.filter((other) => other !== member);
      throw new CommandError(`${member} has no data`, `save what another member has: ${others.join(', ')}`);
    }
    const variables = Object.entries({ ...environments[member], ETCD_FORCE_NEW_CLUSTER: 'true' });
    await mustRun(shell, 'docker', [
      ...['run', '-d', '--name', name, '--user', `${ETCD_UID}:${ETCD_UID}`],
      ...['--network', `${clusterId}-control`, '--network-alias', member],
      ...['-v', `${volume}:/var/lib/etcd`, '-v', `${clusterId}_pki-${member}:/etc/etcd/tls:ro`],
      ...variables.flatMap(([key, value]) => ['-e', `${key}=${value}`]),
      image,
    ]);
    const wait = { clock, what: `the copy of ${member}`, timeoutMs: LIMIT_MS, everyMs: POLL_MS };
    const ask = () => etcd.ctl([member], ['snapshot', 'save', '/snapshot/etcd.db'], [`${folder}:/snapshot`]);
    await untilSucceeds(wait, ask, note);
  } finally {
    await clean();
  }
  context.progress.line(`    writes that ${member} had not received are not in it`);
}

/** Tries one member after the other. Those that do not run are not asked: `etcdctl` waits a minute for each. */
export async function fromAnyMember<T>(
  project: Pick<Project, 'containers'>,
  members: readonly string[],
  ask: (member: string) => Promise<T>,
): Promise<T> {
  const containers = await project.containers();
  const failures: string[] = [];
  for (const member of members) {
    const state = containers.find(({ service }) => service === member)?.state ?? 'without a container';
    try {
      if (state === 'running') return await ask(member);
      failures.push(`${member}: it is ${state}`);
    } catch (error) {
      failures.push(`${member}: ${errorMessage(error)}`);
    }
  }
  throw new CommandError(`no member of etcd responds: ${failures.join('; ')}`, 'look at: npm run status');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
