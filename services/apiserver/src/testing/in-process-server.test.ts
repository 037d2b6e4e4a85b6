import { describeObjectClient } from '@gantry/client/testing';
import { startInProcessServer } from './in-process-server.ts';

describeObjectClient('the client of a server in process', async () => {
  const server = await startInProcessServer();
  const client = server.client({ fieldManager: 'contract' });
  // The clock of the server must be advanced while something waits for it.
  let moving = true;
  const move = async (): Promise<void> => {
    while (moving) await server.clock.advance(1);
  };
  const moved = move();
  const close = async (): Promise<void> => {
    moving = false;
    await moved;
    await server.stop();
  };
  return { client, namespace: 'default', close };
});
