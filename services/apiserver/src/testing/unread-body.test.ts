import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

describe('an unauthorised request whose body never comes', () => {
  let server: TestApiServer;
  beforeAll(async () => {
    server = await startApiServer();
  });
  afterAll(async () => {
    await server.stop();
  });

  /** The status line of the response to a request without its body, from a client without a certificate. */
  const statusLine = async (method: string, path: string, contentType = 'application/json'): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port: server.restPort, ca: server.pki.ca });
    try {
      await once(socket, 'secureConnect');
      const headers = [`Host: localhost`, `Content-Type: ${contentType}`, 'Content-Length: 1000'];
      socket.write(`${method} ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
      const [first] = (await once(socket, 'data')) as [Buffer];
      return first.toString().split('\r\n')[0] ?? '';
    } finally {
      socket.destroy();
    }
  };

  it.each([
    ['POST', CONFIG_MAPS],
    ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
    ['POST', '/api/v1/namespaces/default/pods/p/binding'],
    ['POST', '/api/v1/namespaces/default/pods/p/eviction'],
    ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token'],
    ['PUT', `${CONFIG_MAPS}/a`],
    ['PUT', '/apis/apps/v1/namespaces/default/deployments/a/scale'],
    ['PUT', '/apis/apps/v1/namespaces/default/deployments/a/status'],
    ['DELETE', `${CONFIG_MAPS}/a`],
    ['DELETE', CONFIG_MAPS],
  ])('%s %s is answered at once', async (method, path) => {
    expect(await statusLine(method, path)).toBe('HTTP/1.1 403 Forbidden');
  });

  it.each(['application/merge-patch+json', 'application/apply-patch+yaml'])(
    'PATCH by %s is answered at once',
    async (type) => {
      expect(await statusLine('PATCH', `${CONFIG_MAPS}/a?fieldManager=m`, type)).toBe('HTTP/1.1 403 Forbidden');
    },
  );

  it('is answered at once over HTTP/2', async () => {
    const session = http2.connect(`https://127.0.0.1:${server.restPort}`, { ca: server.pki.ca });
    try {
      const stream = session.request({ ':method': 'POST', ':path': CONFIG_MAPS, 'content-type': 'application/json' });
      const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders & { ':status': number }];
      expect(headers[':status']).toBe(403);
    } finally {
      session.destroy();
    }
  });
});
