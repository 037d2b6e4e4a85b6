import { createGrpcClient, createHttpClient, parseKubeconfig } from '@gantry/client';
import { describeObjectClient } from '@gantry/client/testing';
import { fixedTls } from '@gantry/tls';
import { startApiServer } from '../../testing/start-api-server.ts';

describeObjectClient('the gRPC client of an API server', async () => {
  const server = await startApiServer();
  const client = createGrpcClient({
    addresses: [`localhost:${server.grpcPort}`],
    tls: fixedTls(server.admin),
    fieldManager: 'contract',
  });
  const close = async (): Promise<void> => {
    client[Symbol.dispose]();
    await server.stop();
  };
  return { client, namespace: 'default', close };
});

describeObjectClient('the HTTPS client of an API server', async () => {
  const server = await startApiServer();
  const client = createHttpClient({ ...parseKubeconfig(server.kubeconfig), fieldManager: 'contract' });
  const close = async (): Promise<void> => {
    client[Symbol.dispose]();
    await server.stop();
  };
  return { client, namespace: 'default', close };
});
