import { takeDown, freeze, killContainer, signalOnce } from './process.ts';
import type { FaultKind, Scene } from '../fault.ts';

const MEMBERS = ['etcd/leader', 'etcd/standby', 'etcd/1', 'etcd/2', 'etcd/3'] as const;

/** Faults of etcd. A round has at most one fault whose target is a member. */
export const ETCD_FAULTS: readonly FaultKind[] = [
  {
    kind: 'etcd-kill',
    what: 'SIGKILL to a member of etcd; the engine restarts it.',
    targets: MEMBERS,
    durationMs: [0, 0],
    weight: 2,
    strike: (scene) => signalOnce(scene, 'KILL'),
  },
  {
    kind: 'etcd-terminate',
    what: 'SIGTERM to a member of etcd; the engine restarts it.',
    targets: MEMBERS,
    durationMs: [0, 0],
    weight: 1,
    strike: (scene) => signalOnce(scene, 'TERM'),
  },
  {
    kind: 'etcd-down',
    what: 'A member of etcd is killed and stays down until the fault ends.',
    targets: MEMBERS,
    durationMs: [5_000, 20_000],
    weight: 2,
    strike: takeDown,
  },
  {
    kind: 'etcd-pause',
    what: 'A member of etcd is frozen, and goes on.',
    targets: MEMBERS,
    durationMs: [3_000, 15_000],
    weight: 3,
    strike: freeze,
  },
  {
    kind: 'etcd-quorum-loss',
    what: 'Two of three members of etcd are killed, and start again when the fault ends.',
    targets: ['etcd'],
    durationMs: [5_000, 15_000],
    weight: 1,
    strike: loseQuorum,
  },
  {
    kind: 'etcd-compact',
    what: "etcd's history is compacted up to now, under all watches.",
    targets: ['etcd'],
    durationMs: [0, 0],
    weight: 2,
    strike: async ({ engine }) => {
      const revision = await engine.options.etcd.revision();
      await engine.options.etcd.ctl(['compact', '--physical', String(revision)]);
      return `compacted at ${revision}`;
    },
  },
  {
    kind: 'etcd-defragment',
    what: 'The members of etcd are defragmented one after the other: each one stands still meanwhile.',
    targets: ['etcd'],
    durationMs: [0, 0],
    weight: 1,
    strike: async ({ engine }) => {
      await engine.options.etcd.ctl(['defrag']);
      return 'all members';
    },
  },
  {
    kind: 'etcd-full',
    what: 'etcd has the alarm NOSPACE: it accepts only deletions until the alarm is disarmed.',
    targets: ['etcd'],
    durationMs: [4_000, 10_000],
    weight: 1,
    strike: raiseNoSpace,
  },
  {
    kind: 'etcd-replace',
    what: 'A member of etcd is removed with its data, and added again empty (`npm run etcd -- replace`).',
    targets: ['etcd/1', 'etcd/2', 'etcd/3'],
    durationMs: [0, 0],
    weight: 2,
    company: 'alone',
    strike: replaceMember,
  },
];

async function loseQuorum({ engine, random, undoLater }: Scene): Promise<string> {
  const members = await engine.resolve('etcd', random);
  const spared = Math.floor(random() * members.length);
  const struck = members.filter((_, index) => index !== spared).slice(0, Math.floor(members.length / 2) + 1);
  await undoLater(struck.map(({ id }) => ({ undo: 'start', container: id })));
  for (const member of struck) await killContainer(engine, member);
  return `${struck.map(({ name }) => name).join(', ')} are down`;
}

async function replaceMember({ engine, fault, random, undoLater }: Scene): Promise<string> {
  const { service } = await engine.one(fault.target, random);
  const args = ['replace', service];
  await undoLater([{ undo: 'command', name: 'etcd', args }]);
  // The step that undoes it does it: repeated after a crash of this process, it comes to an end.
  return `${args.join(' ')} begins`;
}

/** AlarmRequest of action ACTIVATE and alarm NOSPACE as a message of gRPC. etcdctl can only disarm. */
const RAISE = `
const { connect } = require('node:http2');
const read = (name) => require('node:fs').readFileSync('/tls/' + name);
const session = connect('https://' + process.argv[1] + ':2379', { ca: read('ca.crt'), cert: read('tls.crt'), key: read('tls.key') });
const call = session.request({
  ':method': 'POST', ':path': '/etcdserverpb.Maintenance/Alarm', 'content-type': 'application/grpc', te: 'trailers',
});
call.on('trailers', (trailers) => process.exit(trailers['grpc-status'] === '0' ? 0 : 1));
call.resume();
call.end(Buffer.from([0, 0, 0, 0, 4, 8, 1, 24, 1]));
`;

async function raiseNoSpace({ engine, random, undoLater }: Scene): Promise<string> {
  const members = (await engine.resolve('etcd', random)).filter(({ state }) => state === 'running');
  const { clusterId, image } = engine.options;
  const tls = ['-v', `${clusterId}_pki-apiserver-etcd:/tls:ro`, '--network', `${clusterId}-control`];
  await undoLater([{ undo: 'disarm' }]);
  await engine.docker(['run', '--rm', ...tls, '--user', '0', image, 'node', '-e', RAISE, members[0]?.service ?? '']);
  return 'NOSPACE';
}
