import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cpuMs, endProcess } from './processes.ts';

const MAIN = 'services/dns/src/testing/dev-dns.ts';
/** Where Debian's package has it. */
const DNSMASQ = '/usr/sbin/dnsmasq';
const DOMAIN = 'default.svc.cluster.local';
const NAMES = 1000;
/** Questions that wait for a response at a time, of each client. */
const WINDOW = 32;
const CLIENTS = 4;
const ROUNDS = 5;
const ROUND_MS = 3000;
/** A question without a response for so long was lost, and another one takes its place. */
const LOST_MS = 500;

interface Server {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  readonly process: ChildProcess;
}

interface Round {
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly lost: number;
}

/** Questions a second and CPU a question of our DNS and Debian's dnsmasq for the same 1,000 names over UDP, in turn. */
export async function measureDns(): Promise<string[]> {
  const services = Array.from({ length: NAMES }, (_, i) => [`service-${i}`, `10.96.${i >> 8}.${i & 255}`] as const);
  execFileSync('sh', ['deploy/bin/ensure-dnsmasq'], { stdio: 'inherit' });
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-dns-'));
  const servers: Server[] = [];
  try {
    servers.push(await startOurs(services), await startDnsmasq(services, folder));
    const rounds = new Map<Server, Round[]>(servers.map((server) => [server, []]));
    for (const server of servers) await measure(server, ROUND_MS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of servers) rounds.get(server)?.push(await measure(server, ROUND_MS));
    }
    const [ours, theirs] = servers.map((server) => medianOf(rounds.get(server) ?? []));
    if (ours === undefined || theirs === undefined) return [];
    const line = (name: string, { perSecond, cpuMicros, lost }: Round) =>
      `| ${name} | ${Math.round(perSecond)} | ${cpuMicros.toFixed(1)} | ${lost} |`;
    return [
      '| server | questions/s | CPU a question, us | lost |',
      '| --- | --- | --- | --- |',
      line('gantry', ours),
      line('dnsmasq', theirs),
      `| ratio | ${(ours.perSecond / theirs.perSecond).toFixed(2)} | ${(ours.cpuMicros / theirs.cpuMicros).toFixed(2)} | |`,
    ];
  } finally {
    for (const { process: child } of servers) {
      await endProcess(child);
    }
    rmSync(folder, { recursive: true });
  }
}

async function startOurs(services: readonly (readonly [string, string])[]): Promise<Server> {
  const child = spawn(process.execPath, ['--conditions=gantry-source', MAIN], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(services.map((one) => `${one.join(' ')}\n`).join(''));
  for await (const line of createInterface(child.stdout)) {
    return { name: 'gantry', port: Number(line), pid: child.pid ?? 0, process: child };
  }
  throw new Error('the DNS server ended before it listened');
}

async function startDnsmasq(services: readonly (readonly [string, string])[], folder: string): Promise<Server> {
  const probe = createSocket('udp4').bind(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, services.map(([name, address]) => `${address} ${name}.${DOMAIN}\n`).join(''));
  const child = spawn(
    DNSMASQ,
    ['--keep-in-foreground', '--conf-file=/dev/null', '--no-resolv', '--no-hosts', '--user=root', '--pid-file='].concat(
      [`--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces', `--addn-hosts=${hosts}`, '--local-ttl=5'],
    ),
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const server = { name: 'dnsmasq', port, pid: child.pid ?? 0, process: child };
  // It answers once it has read the names.
  while ((await measure(server, 200)).perSecond < 1) if (child.exitCode !== null) throw new Error('dnsmasq ended');
  return server;
}

async function measure({ port, pid }: Server, durationMs: number): Promise<Round> {
  const before = cpuMs(pid);
  const startedAt = performance.now();
  const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => runClient(port, durationMs, i)));
  const seconds = (performance.now() - startedAt) / 1000;
  const answered = clients.reduce((sum, one) => sum + one.answered, 0);
  return {
    perSecond: answered / seconds,
    cpuMicros: ((cpuMs(pid) - before) * 1000) / Math.max(1, answered),
    lost: clients.reduce((sum, one) => sum + one.lost, 0),
  };
}

async function runClient(port: number, durationMs: number, seed: number): Promise<{ answered: number; lost: number }> {
  const packets = Array.from({ length: NAMES }, (_, i) => questionFor(`service-${i}.${DOMAIN}`));
  const socket = createSocket('udp4');
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let [asked, answered, lost, ended] = [seed * 131, 0, 0, false];
  const waiting = new Map<number, number>();
  const ask = () => {
    asked += 1;
    const packet = packets[(asked * 7) % NAMES];
    if (packet === undefined) return;
    const id = asked & 0xffff;
    packet.writeUInt16BE(id, 0);
    waiting.set(id, performance.now());
    socket.send(Buffer.from(packet), () => undefined);
  };
  socket.on('message', (response) => {
    // Only answers count: one record, no error.
    if (!waiting.delete(response.readUInt16BE(0)) || ended) return;
    if ((response.readUInt8(3) & 15) === 0 && response.readUInt16BE(6) === 1) answered += 1;
    ask();
  });
  // Refused while the server starts.
  socket.on('error', () => undefined);
  for (let i = 0; i < WINDOW; i++) ask();
  const { promise, resolve } = Promise.withResolvers<void>();
  const lookForLost = setInterval(() => {
    const now = performance.now();
    for (const [id, since] of waiting) {
      if (now - since < LOST_MS) continue;
      waiting.delete(id);
      lost += 1;
      ask();
    }
  }, LOST_MS / 5);
  setTimeout(resolve, durationMs);
  await promise;
  ended = true;
  clearInterval(lookForLost);
  socket.close();
  return { answered, lost };
}

function questionFor(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

function medianOf(rounds: readonly Round[]): Round {
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    cpuMicros: median(rounds.map(({ cpuMicros }) => cpuMicros)),
    lost: rounds.reduce((sum, { lost }) => sum + lost, 0),
  };
}
