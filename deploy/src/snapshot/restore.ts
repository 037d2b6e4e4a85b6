import { existsSync } from 'node:fs';
import { errorMessage, systemClock } from '@gantry/base';
import { openApi } from '../cluster/api.ts';
import { countsOf, createVolume, settingsFileOf } from '../cluster/compose.ts';
import { endFormerLeaders, type EtcdTools, initialCluster } from '../cluster/etcd-tools.ts';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import { lookAtApi } from '../cluster/readiness.ts';
import { untilSucceeds, waitUntil } from '../cluster/wait-until.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun } from '../machine/shell.ts';
import { ETCD_UID } from '../pki/roles.ts';
import { inContainer, keyVolumes, LIMIT_MS, POLL_MS, presentSealingKeys } from './key-volumes.ts';
import { lockRestore, removeUnpacked, unpackedVolume } from './restore-lock.ts';
import { parseSnapshotFacts, type SnapshotFacts, unreadableSecrets } from './snapshot-file.ts';

const clock = systemClock;
/**
 * So many revisions after the snapshot's the history goes on. It is more than a cluster writes between a snapshot and its restore, so that no
 * client has seen a newer revision.
 */
export const RESTORED_LATER = 1_000_000_000;

/** Unpacks a file into a volume of its own, checks it, and calls `use` with its `snapshot.json`. */
async function withContents(
  context: OpenCluster,
  file: string,
  use: (facts: SnapshotFacts) => Promise<void>,
): Promise<void> {
  const { shell, etcd, progress } = context;
  if (!existsSync(file)) throw new CommandError(`there is no file ${file}`);
  const volume = unpackedVolume(context.clusterId);
  const remove = () => removeUnpacked((args) => mustRun(shell, 'docker', args), context.clusterId);
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
  const { members } = etcd.layout;
  for (const member of members) {
    const cluster = [
      '--name',
      member,
      '--initial-cluster',
      initialCluster(members),
      '--initial-cluster-token',
      `restored-${volume}`,
    ];
    const urls = ['--initial-advertise-peer-urls', `https://${member}:2380`];
    // Clients with a newer version list again, instead of waiting for events that this history does not have.
    const history = ['--bump-revision', String(RESTORED_LATER), '--mark-compacted'];
    const data = ['--data-dir', `/all/data/${member}`];
    const args = ['snapshot', 'restore', '/all/etcd.db', ...cluster, ...urls, ...history, ...data];
    await etcd.util(args, [`${volume}:/all`]);
  }
}

/** Checks a file, and prints what it contains. */
export async function check(context: OpenCluster, file: string): Promise<void> {
  await withContents(context, file, async (facts) => {
    const problem = unreadableSecrets(facts, await presentSealingKeys(context), 'cluster');
    context.progress.line(`keys: ${facts.keys}${problem === undefined ? '' : `\n${problem}`}`);
  });
}

interface RestoreOptions {
  /** `file`: all keys come from the file. `cluster`: only those that the cluster has lost. */
  readonly keys: 'file' | 'cluster';
  readonly unreadable: 'accepted' | 'refused';
}

/** Replaces the state of the cluster by that of a file, and its keys as the options say. */
export async function restore(context: OpenCluster, file: string, { keys, unreadable }: RestoreOptions): Promise<void> {
  const { clusterId, config, etcd, project, progress } = context;
  const { members } = etcd.layout;
  using lock = lockRestore(config);
  if (lock === undefined) throw new CommandError('another snapshot of this cluster is being restored');
  await withContents(context, file, async (facts) => {
    if (facts.clusterId !== clusterId) {
      throw new CommandError(
        `${file} is a snapshot of the cluster ${facts.clusterId}, and this is ${clusterId}`,
        `restore it in its own checkout, or set GANTRY_CLUSTER_ID=${facts.clusterId} in ${settingsFileOf(config)} on a machine without that cluster`,
      );
    }
    if (keys === 'file' && facts.keys === 'left-out') {
      throw new CommandError(
        `${file} has no keys: it is a scheduled snapshot, or was saved with --without-keys`,
        'restore it without --keys',
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
    // Services with certificates of other authorities must not keep running.
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
        `${unpackedVolume(context.clusterId)}:/all:ro`,
        ...members.map((member) => `${clusterId}_${member}:/members/${member}`),
      ];
      const copies = members.map((member) => {
        const [from, to] = [`/all/data/${member}/member`, `/members/${member}/new`];
        return `rm -rf ${to}; cp -a ${from} ${to}; chown -R ${ETCD_UID}:${ETCD_UID} ${to}`;
      });
      const moves = members.map((member) => `cd /members/${member}; rm -rf member; mv new member`);
      // The old data goes when all new data is there: a full disk loses nothing.
      await inContainer(context, mounts, [...copies, ...moves].join('\n'));
    });
    await progress.step('etcd', async (note) => {
      await project.compose(['up', '-d', '--no-build', ...members], (line) => note(line.trim()));
      // Leaders of the other history cannot write: their epochs belong to an incarnation that is gone.
      const wait = { clock, what: 'etcd', timeoutMs: LIMIT_MS, everyMs: POLL_MS };
      await untilSucceeds(wait, () => endFormerLeaders(etcd), note);
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
async function restoreKeys(context: OpenCluster, keys: RestoreOptions['keys']): Promise<number> {
  const { clusterId, shell } = context;
  const volume = unpackedVolume(context.clusterId);
  // Other names could be those of volumes without keys.
  const names = (await inContainer(context, [`${volume}:/all:ro`], 'ls /all/keys'))
    .split('\n')
    .filter((name) => /^pki-[a-z0-9-]+$/.test(name));
  const existing = new Set(await keyVolumes(context));
  let count = 0;
  for (const name of names) {
    const target = `${clusterId}_${name}`;
    if (!existing.has(target)) await createVolume(shell, clusterId, name);
    else if (keys === 'cluster') continue;
    await inContainer(
      context,
      [`${volume}:/all:ro`, `${target}:/to`],
      `find /to -mindepth 1 -delete; cp -a /all/keys/${name}/. /to/`,
    );
    count += 1;
  }
  return count;
}
