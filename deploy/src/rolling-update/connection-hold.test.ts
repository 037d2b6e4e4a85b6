import { ManualClock } from '@gantry/base/testing';
import type Docker from 'dockerode';
import { expect, test } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { drainBalancer, holdConnections, publishedPorts, untilConnected } from './connection-hold.ts';

const PORTS = [{ container: 6443, host: 6445 }];

function machine(answer: (command: string) => number) {
  const commands: string[] = [];
  const notes: string[] = [];
  const clock = new ManualClock();
  const shell: Shell = {
    run: async (_, args) => {
      const command = args.join(' ');
      commands.push(command);
      const code = answer(command);
      return { code, stdout: '', stderr: code === 0 ? '' : 'no such container' };
    },
  };
  return { hold: { clusterId: 'c', shell, clock, note: (text: string) => notes.push(text) }, commands, notes, clock };
}

test('the published ports of a container are those of all addresses of the host', () => {
  const bindings = { '6443/tcp': [{ HostIp: '127.0.0.1', HostPort: '6445' }, { HostPort: '6446' }], '80/tcp': null };
  const container = { HostConfig: { PortBindings: bindings } } as unknown as Docker.ContainerInspectInfo;
  expect(publishedPorts(container)).toEqual([...PORTS, { container: 6443, host: 6446 }]);
  expect(publishedPorts({ HostConfig: {} })).toEqual([]);
});

test('new connections are held in the network of the host, for a minute at most', async () => {
  const { hold, commands, notes } = machine(() => 0);
  {
    await using _ = await holdConnections(hold, PORTS);
    expect(commands).toHaveLength(1);
    expect(commands[0]).toMatch(/^exec c-pod-egress-1 nft destroy table inet gantry-hold-c; table inet gantry-hold-c/);
    expect(commands[0]).toContain('elements = { 6445 timeout 60s }');
  }
  expect(commands.slice(1)).toEqual(['exec c-pod-egress-1 nft destroy table inet gantry-hold-c']);
  expect(notes).toEqual([]);
});

test('without a way to hold connections, the update says so and goes on', async () => {
  const { hold, commands, notes } = machine(() => 1);
  {
    await using _ = await holdConnections(hold, PORTS);
  }
  expect(commands).toHaveLength(1);
  expect(notes).toEqual([expect.stringMatching(/^new connections are refused .*no such container/s)]);
});

test('the load balancer is drained when the API servers have ended its connections, or after two seconds', async () => {
  let open = 2;
  const { hold, commands, clock } = machine((command) => (command.startsWith('exec') && open-- > 0 ? 1 : 0));
  const drained = drainBalancer(hold, 'b1', ['a1', 'a2'], PORTS);
  await clock.advance(200);
  await drained;
  expect(commands[0]).toBe('kill --signal SIGWINCH a1 a2');
  expect(commands.slice(1)).toHaveLength(3);
  expect(commands[1]).toMatch(/^exec b1 bash -c .*:192B/s);

  open = Infinity;
  const late = drainBalancer(hold, 'b1', ['a1'], PORTS);
  await clock.advance(2100);
  await late;
});

test('a load balancer without API servers is named', async () => {
  const { hold, notes, clock } = machine(() => 1);
  const connected = untilConnected(hold, 'b2', PORTS);
  await clock.advance(20_100);
  await connected;
  expect(notes).toEqual(['the load balancer has no API server yet']);
});
