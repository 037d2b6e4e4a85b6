import { once } from 'node:events';
import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { systemClock } from '@gantry/base';
import { createFramer, PortForwardOutputSchema } from '@gantry/proto';
import { fixedTls } from '@gantry/tls';
import { expect, it } from 'vitest';
import { createTestPki } from '../testing/test-pki.ts';
import { createAgentStreams } from './agent-streams.ts';

const started = create(PortForwardOutputSchema, { part: { case: 'started', value: {} } });
const STARTED = Buffer.concat(createFramer(PortForwardOutputSchema)(started));
const POD = { namespace: 'default', pod: 'p', podUid: 'u', port: 80 };

it('goes on after the agent was started again', async () => {
  const pki = await createTestPki(systemClock.now());
  const agent = createSecureServer(await pki.issue('system:node:node-a', ['system:nodes'], ['node-a']));
  const sessions: ServerHttp2Session[] = [];
  agent.on('session', (session) => sessions.push(session));
  agent.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.write(STARTED);
  });
  await once(agent.listen(0, '127.0.0.1'), 'listening');
  const tls = fixedTls(await pki.issue('system:apiserver', ['gantry:apiservers']));
  const streams = createAgentStreams(tls, systemClock, (agent.address() as AddressInfo).port);
  const signals = new AbortController();
  {
    using session = await streams.connect({ node: 'node-a', host: '127.0.0.1' });
    const first = await session.forward(POD, signals.signal);
    sessions[0]?.destroy();
    await expect(first.next()).rejects.toMatchObject({ details: expect.stringContaining('broken off') });
    const again = await Promise.all([1, 2].map(() => session.forward(POD, signals.signal)));
    expect(sessions).toHaveLength(2);
    for (const call of again) call.cancel();
  }
  signals.abort();
  await new Promise((resolve) => agent.close(resolve));
});
