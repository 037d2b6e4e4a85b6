import { CommandError } from '../../machine/command-error.ts';
import type { FaultKind, Scene } from '../fault.ts';

/** Faults of what the host gives to one container: its disk, its engine's socket. */
export const HOST_FAULTS: readonly FaultKind[] = [
  {
    kind: 'etcd-slow-disk',
    what: 'The disk takes four writes a second from a member of etcd: each fsync waits (the io controller of its control group).',
    targets: ['etcd/leader', 'etcd/standby', 'etcd/1'],
    durationMs: [8_000, 20_000],
    weight: 2,
    strike: slowDisk,
  },
  {
    kind: 'engine-hung',
    what: "An agent's requests to the Docker Engine are accepted and never answered; other clusters' are not concerned.",
    targets: ['agent/1', 'agent/2', 'agent/leader'],
    durationMs: [8_000, 25_000],
    weight: 2,
    strike: hangEngine,
  },
];

const WRITES_PER_SECOND = 4;

async function slowDisk({ engine, fault, random, undoLater }: Scene): Promise<string> {
  const { id, name, service } = await engine.one(fault.target, random);
  const device = await engine.diskOf(`${engine.options.clusterId}_${service}`);
  await undoLater([{ undo: 'unthrottle', container: id, device }]);
  await engine.limitWrites(id, device, WRITES_PER_SECOND);
  return `${name}: ${WRITES_PER_SECOND} writes a second to the disk ${device}`;
}

const ENGINE_SOCKET = '/var/run/docker.sock';
/** In a volume of the agent's own, where it may write. */
const SILENT_SOCKET = '/var/lib/gantry-keys/chaos.sock';
/** Accepts connections and never answers, until its socket is removed. */
const SILENT = `
const { existsSync } = require('node:fs');
const server = require('node:net').createServer(() => {}).listen('${SILENT_SOCKET}');
setInterval(() => existsSync('${SILENT_SOCKET}') || process.exit(0), 200);
`;
const UNHANG = `while grep -q 'chaos.sock /[^ ]*docker.sock ' /proc/self/mountinfo; do umount -l ${ENGINE_SOCKET}; done
rm -f ${SILENT_SOCKET}`;

/** A silent socket over the engine's, in the mount namespace of the agent's container: it ends with the container. */
async function hangEngine({ engine, fault, random, undoLater }: Scene): Promise<string> {
  const { id, name, state } = await engine.one(fault.target, random);
  if (state !== 'running') throw new CommandError(`${name} does not run`);
  await undoLater([{ undo: 'exec', container: id, script: UNHANG }]);
  await engine.docker(['exec', id, 'rm', '-f', SILENT_SOCKET]);
  await engine.docker(['exec', '-d', id, 'node', '-e', SILENT]);
  const mount = `for i in $(seq 100); do test -S ${SILENT_SOCKET} && break; sleep 0.1; done; mount --bind ${SILENT_SOCKET} ${ENGINE_SOCKET}`;
  await engine.docker(['exec', id, 'sh', '-ec', mount]);
  return `${name} gets no answers of the engine`;
}
